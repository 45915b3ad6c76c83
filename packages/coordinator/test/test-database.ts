// A PostgreSQL for one test file: the real embedded one, from a cluster that is made once per
// machine and copied, so that a file starts in a fraction of a second. Each call of `create`
// gives a coordinator on a fresh database of that server.

import { randomBytes } from 'node:crypto';
import { access, cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type Logger, pino } from 'pino';
import {
  type Coordinator,
  type CoordinatorOptions,
  createCoordinator,
  type EmbeddedPostgres,
  type PostgresConnection,
  startEmbeddedPostgres,
} from '../src/index.js';

const TEMPLATE = join(tmpdir(), `engram-test-cluster-17-${process.getuid?.() ?? 0}`);

export interface TestDatabase {
  readonly postgres: EmbeddedPostgres;
  /** A fresh, empty database on the server. */
  makeDatabase(): Promise<PostgresConnection>;
  /** A coordinator on that database, or on a fresh one. Closed by `stop`. */
  createCoordinator(options?: Partial<CoordinatorOptions>): Promise<Coordinator>;
  /** Ends the server hard and starts it again on the same folder. */
  crashAndRestart(): Promise<void>;
  query(connection: PostgresConnection, text: string, values?: unknown[]): Promise<readonly Record<string, unknown>[]>;
  stop(): Promise<void>;
}

export async function startTestDatabase(log: Logger = pino({ level: 'silent' })): Promise<TestDatabase> {
  await makeTemplate(log);
  const root = await mkdtemp(join(tmpdir(), 'egd-'));
  const dataDir = join(root, 'data');
  const runDir = join(root, 'run');
  await mkdir(runDir, { mode: 0o700 });
  await cp(TEMPLATE, dataDir, { recursive: true });
  let postgres = await startEmbeddedPostgres({ dataDir, runDir, log });
  const open = new Set<Coordinator>();

  async function makeDatabase(): Promise<PostgresConnection> {
    const name = `t_${randomBytes(6).toString('hex')}`;
    await query(postgres.connectionConfig, `create database ${name}`);
    return { ...postgres.connectionConfig, database: name };
  }

  return {
    get postgres() {
      return postgres;
    },
    makeDatabase,
    async createCoordinator(options = {}) {
      const connection = options.connection ?? (await makeDatabase());
      const coordinator = await createCoordinator({ log, ...options, connection });
      open.add(coordinator);
      return coordinator;
    },
    async crashAndRestart() {
      process.kill(postgres.pid, 'SIGKILL');
      await postgres.exited;
      postgres = await startEmbeddedPostgres({ dataDir, runDir, log });
    },
    query,
    async stop() {
      for (const coordinator of open) await coordinator.close();
      await postgres.stop();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function query(
  connection: PostgresConnection,
  text: string,
  values: unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Tests make databases, so the service's role of the template may. */
async function makeTemplate(log: Logger): Promise<void> {
  if (
    await access(TEMPLATE).then(
      () => true,
      () => false,
    )
  )
    return;
  const making = await mkdtemp(join(tmpdir(), 'egm-'));
  const run = await mkdtemp(join(tmpdir(), 'egr-'));
  const postgres = await startEmbeddedPostgres({ dataDir: making, runDir: run, log });
  const { readFile } = await import('node:fs/promises');
  const password = await readFile(join(making, 'pg-superuser-password'), 'utf8');
  await query({ ...postgres.connectionConfig, user: 'postgres', password }, 'alter role engram createdb');
  await postgres.stop();
  await rm(run, { recursive: true, force: true });
  // Another test file may have been quicker: its template is as good.
  await rename(making, TEMPLATE).catch(() => rm(making, { recursive: true, force: true }));
}
