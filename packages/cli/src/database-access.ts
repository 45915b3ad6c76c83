// The database a `db` command works on: the server that DATABASE_URL names; else the data folder's own
// PostgreSQL, of the Engram that runs there or started for the moment of the command.

import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type ConnectionSource, startEmbeddedPostgres } from '@engram/coordinator';
import { openRunDir } from '@engram/host-agent';
import type { Logger } from 'pino';
import { CliError } from './cli-error.js';
import type { Config } from './config.js';
import { openDataFolder } from './data-folder.js';
import { refuseMovedDatabase } from './moved-database.js';
import { takeOwnerLock } from './owner-lock.js';
import { readServerFile } from './server-file.js';

export interface OpenedDatabase {
  readonly connection: ConnectionSource;
  /** True when an Engram works on it at this moment. */
  readonly running: boolean;
}

/** For reading: also while Engram runs. */
export async function withAnyDatabase<T>(
  config: Config,
  log: Logger,
  work: (opened: OpenedDatabase) => Promise<T>,
): Promise<T> {
  if (config.databaseUrl !== undefined) return work({ connection: config.databaseUrl, running: false });
  await requireCluster(config.dataDir);
  const dataDir = await openDataFolder(config.dataDir);
  const taken = await takeOwnerLock(dataDir);
  if ('owner' in taken) {
    const server = await readServerFile(dataDir);
    if (server?.database !== undefined) return work({ connection: server.database, running: true });
    throw server === undefined
      ? new CliError('already_running', `Engram is starting or stopping on ${dataDir}.`, 'try again in a moment')
      : new CliError(
          'bad_config',
          `The Engram on ${dataDir} uses a PostgreSQL server.`,
          'set DATABASE_URL to it for this command, too',
        );
  }
  try {
    return await withOwnPostgres(dataDir, log, (connection) => work({ connection, running: false }));
  } finally {
    await taken.lock.release();
  }
}

/** For writing to, or moving away, the data folder's own PostgreSQL: nothing may run on it. */
export async function withStoppedFolder<T>(
  config: Config,
  log: Logger,
  cluster: 'must exist' | 'may be made',
  work: (connection: ConnectionSource, dataDir: string) => Promise<T>,
): Promise<T> {
  if (cluster === 'must exist') await requireCluster(config.dataDir);
  const dataDir = await openDataFolder(config.dataDir);
  const taken = await takeOwnerLock(dataDir);
  if ('owner' in taken) {
    throw new CliError(
      'already_running',
      `Engram runs on ${dataDir} (process ${taken.owner.pid}); this needs it stopped.`,
      'stop it (Ctrl-C where it was started), then run this command again',
    );
  }
  try {
    return await withOwnPostgres(dataDir, log, (connection) => work(connection, dataDir));
  } finally {
    await taken.lock.release();
  }
}

async function withOwnPostgres<T>(
  dataDir: string,
  log: Logger,
  work: (connection: ConnectionSource) => Promise<T>,
): Promise<T> {
  await refuseMovedDatabase(dataDir);
  const postgres = await startEmbeddedPostgres({ dataDir, runDir: await openRunDir(dataDir), log });
  try {
    return await work(postgres.connectionConfig);
  } finally {
    await postgres.stop();
  }
}

/** A folder without a database is a wrong --data-dir, not a reason to make one. */
async function requireCluster(dataDir: string): Promise<void> {
  const found = await access(join(dataDir, 'pg')).then(
    () => true,
    () => false,
  );
  if (found) return;
  throw new CliError(
    'not_running',
    `${dataDir} holds no database of Engram.`,
    'name its data folder with --data-dir, or set DATABASE_URL',
  );
}
