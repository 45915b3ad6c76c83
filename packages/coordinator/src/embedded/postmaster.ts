// One running postmaster: start it in its own session (so a terminal's Ctrl-C reaches only its
// owner, who decides the order), wait until it takes connections, stop it. Its output goes to a
// file: it must be able to outlive us, and it never holds statements.

import { spawn } from 'node:child_process';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CoordinatorError, errorCode } from '../coordinator-error.js';
import type { PostgresBinaries } from './postgres-binaries.js';
import { toStartFailure } from './start-failure.js';
import { type Launch, toCommand } from './unprivileged-launch.js';

const READY_POLL_MS = 8;
/** Recovery after a crash replays the write-ahead log; far above what our settings allow it to take. */
const READY_TIMEOUT_MS = 120_000;
const FAST_STOP_MS = 8_000;
const IMMEDIATE_STOP_MS = 3_000;
const LOG_LIMIT_BYTES = 8 * 1024 * 1024;

export interface PostmasterOptions {
  readonly binaries: PostgresBinaries;
  readonly launch: Launch;
  readonly clusterDir: string;
  readonly socketDir: string;
  readonly logFile: string;
  readonly maxConnections: number;
  /** More `-c name=value` settings. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface PostmasterExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Postmaster {
  readonly pid: number;
  readonly exited: Promise<PostmasterExit>;
  /** Fast stop, then immediate, then kill: at most about eleven seconds. */
  stop(): Promise<void>;
}

function toSettings(options: PostmasterOptions): Record<string, string> {
  return {
    listen_addresses: '',
    unix_socket_directories: options.socketDir,
    unix_socket_permissions: '0700',
    max_connections: String(options.maxConnections),
    shared_buffers: '32MB',
    max_wal_size: '512MB',
    huge_pages: 'off',
    jit: 'off',
    wal_compression: 'on',
    max_worker_processes: '4',
    max_parallel_workers: '2',
    // After a crash one sync of the file system instead of one per file: steadier on a busy disk.
    ...(process.platform === 'linux' ? { recovery_init_sync_method: 'syncfs' } : {}),
    cluster_name: 'engram',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_min_messages: 'warning',
    log_checkpoints: 'off',
    // Nothing of what people write may reach a log file: no statements, no row values.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    ...options.settings,
  };
}

export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const { clusterDir, logFile } = options;
  const settings = Object.entries(toSettings(options)).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = toCommand(options.launch, options.binaries.postgres, ['-D', clusterDir, ...settings]);
  await rotate(logFile);
  const log = await open(logFile, 'a', 0o600);
  const from = (await log.stat()).size;
  try {
    const child = spawn(command.file, [...command.args], {
      ...command.ids,
      cwd: '/',
      env: { LC_ALL: 'C', TZ: 'UTC', ...options.binaries.env },
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    const exited = new Promise<PostmasterExit>((resolve) => {
      child.once('error', () => resolve({ code: null, signal: null }));
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    const { pid } = child;
    if (pid === undefined) {
      await exited;
      throw new CoordinatorError('start_failed', `PostgreSQL could not be started (${command.file}).`);
    }
    const stop = stopper(pid, exited);
    const outcome = await waitUntilReady(clusterDir, pid, exited);
    if (outcome === 'ready') return { pid, exited, stop };
    await stop();
    throw toStartFailure('start on', clusterDir, await readFrom(logFile, from));
  } finally {
    await log.close();
  }
}

async function waitUntilReady(
  clusterDir: string,
  pid: number,
  exited: Promise<PostmasterExit>,
): Promise<'ready' | 'ended' | 'late'> {
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  const until = Date.now() + READY_TIMEOUT_MS;
  while (!ended) {
    // PostgreSQL keeps its state in the eighth line of its pid file, for exactly this use.
    const lines = await readPidFile(clusterDir);
    if (Number(lines[0]) === pid && lines[7]?.startsWith('ready')) return 'ready';
    if (Date.now() > until) return 'late';
    await delay(READY_POLL_MS);
  }
  return 'ended';
}

export async function readPidFile(clusterDir: string): Promise<readonly string[]> {
  try {
    return (await readFile(join(clusterDir, 'postmaster.pid'), 'utf8')).split('\n');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function stopper(pid: number, exited: Promise<PostmasterExit>): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  const endsWithin = async (signal: NodeJS.Signals, ms: number): Promise<boolean> => {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
    }
    const timer = new AbortController();
    const won = await Promise.race([
      exited.then(() => true),
      delay(ms, false, { signal: timer.signal, ref: true }).catch(() => false),
    ]);
    timer.abort();
    return won;
  };
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  const run = async (): Promise<void> => {
    await Promise.resolve();
    if (ended) return;
    if (await endsWithin('SIGINT', FAST_STOP_MS)) return;
    if (await endsWithin('SIGQUIT', IMMEDIATE_STOP_MS)) return;
    await endsWithin('SIGKILL', IMMEDIATE_STOP_MS);
  };
  return () => {
    stopping ??= run();
    return stopping;
  };
}

async function rotate(logFile: string): Promise<void> {
  try {
    if ((await stat(logFile)).size > LOG_LIMIT_BYTES) await rename(logFile, `${logFile}.1`);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

async function readFrom(path: string, offset: number): Promise<string> {
  const bytes = await readFile(path);
  return bytes.subarray(Math.max(offset, bytes.length - 16_384)).toString('utf8');
}
