// The PostgreSQL that belongs to one data folder. The caller holds the folder's lock; a second
// PostgreSQL on the same cluster is therefore an orphan and is ended first.
//
//   find binaries → choose how to launch → end orphans → (init cluster) → start → service role

import { mkdir, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { CoordinatorError, errorCode } from '../coordinator-error.js';
import {
  clusterExists,
  initCluster,
  type PostgresConnection,
  prepareServiceRole,
  readOrMakePasswords,
} from './cluster.js';
import { endOrphans } from './orphans.js';
import { findPostgresBinaries } from './postgres-binaries.js';
import { type Postmaster, type PostmasterExit, type PostmasterOptions, startPostmaster } from './postmaster.js';
import { chooseLaunch, giveTo, type Launch } from './unprivileged-launch.js';

/** sockaddr_un holds 108 bytes, the last one a zero. */
const SOCKET_PATH_BYTES = 107;
const IN_USE_MS = 10_000;

export interface EmbeddedPostgresOptions {
  /** Engram's data folder; the cluster is `pg` in it. */
  readonly dataDir: string;
  /** An existing 0700 folder with a short path: the unix socket is made here. */
  readonly runDir: string;
  readonly log: Logger;
  readonly maxConnections?: number;
  /** More settings for the server, as `name → value`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Behave as if user namespaces were refused (root only). */
  readonly refuseNamespace?: boolean;
}

export interface EmbeddedPostgres {
  /** Connects as the service's role, which is not a superuser. */
  readonly connectionConfig: PostgresConnection;
  readonly pid: number;
  /** Resolves when the server ends, whoever ended it. */
  readonly exited: Promise<PostmasterExit>;
  stop(): Promise<void>;
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, runDir, log } = options;
  const startedAt = Date.now();
  const folder = await writableFolder(dataDir);
  const clusterDir = join(folder, 'pg');
  const binaries = await findPostgresBinaries(join(runDir, 'pg-lib'));
  const launch = await chooseLaunch(binaries, clusterDir, options.refuseNamespace);
  const socketDir = await socketFolder(runDir, launch);

  const exists = await clusterExists(clusterDir);
  const passwords = await readOrMakePasswords(folder, exists);
  if (exists) await endOrphans(clusterDir, log);
  else await initCluster(binaries, launch, clusterDir, passwords);
  await giveTo(launch, clusterDir);

  // No PostgreSQL of ours lives here now; a lock left behind could name a stranger's pid.
  await rm(join(socketDir, '.s.PGSQL.5432.lock'), { force: true });
  const postmaster = await startPatiently({
    binaries,
    launch,
    clusterDir,
    socketDir,
    logFile: join(folder, 'logs', 'postgres.log'),
    maxConnections: options.maxConnections ?? 80,
    settings: options.settings ?? {},
  });
  try {
    const connectionConfig = await prepareServiceRole(socketDir, passwords);
    log.info(
      { pid: postmaster.pid, launch: launch.kind, ms: Date.now() - startedAt, created: !exists },
      'PostgreSQL is up',
    );
    return { connectionConfig, pid: postmaster.pid, exited: postmaster.exited, stop: () => postmaster.stop() };
  } catch (cause) {
    await postmaster.stop();
    if (cause instanceof CoordinatorError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CoordinatorError('start_failed', `PostgreSQL of ${folder} started but refused the service: ${why}.`, {
      cause,
    });
  }
}

/** Right after a SIGKILL the old shared memory is still there for a moment; that passes. */
async function startPatiently(options: PostmasterOptions): Promise<Postmaster> {
  const until = Date.now() + IN_USE_MS;
  for (;;) {
    try {
      return await startPostmaster(options);
    } catch (error) {
      if (!(error instanceof CoordinatorError) || error.code !== 'cluster_in_use' || Date.now() > until) throw error;
      await delay(200);
    }
  }
}

async function writableFolder(dataDir: string): Promise<string> {
  try {
    await mkdir(join(dataDir, 'logs'), { recursive: true, mode: 0o700 });
    return await realpath(dataDir);
  } catch (cause) {
    const code = errorCode(cause);
    if (code === 'ENOSPC') {
      throw new CoordinatorError('disk_full', `The disk of ${dataDir} is full. Free some space and start again.`, {
        cause,
      });
    }
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || code === 'ENOTDIR') {
      throw new CoordinatorError(
        'no_permission',
        `${dataDir} cannot be written (${code}). Make it writable for the user that starts Engram, or choose another one with --data-dir.`,
        { cause },
      );
    }
    throw cause;
  }
}

/** Where the server runs as another account, that account must own the socket's folder. */
async function socketFolder(runDir: string, launch: Launch): Promise<string> {
  const folder = launch.kind === 'account' ? `${runDir}-pg` : runDir;
  const path = join(folder, '.s.PGSQL.5432.lock');
  const bytes = Buffer.byteLength(path);
  if (bytes > SOCKET_PATH_BYTES) {
    throw new CoordinatorError(
      'socket_path_too_long',
      `${path} has ${bytes} bytes; a unix socket path may have ${SOCKET_PATH_BYTES}. Use a shorter temporary folder (TMPDIR).`,
    );
  }
  if (launch.kind === 'account') {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await giveTo(launch, folder);
  }
  return folder;
}
