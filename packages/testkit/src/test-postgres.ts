// A real PostgreSQL in a temporary folder, for tests that need a database and nothing else.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type PostgresConnection, startEmbeddedPostgres } from '@engram/coordinator';
import { openRunDir } from '@engram/host-agent';
import { type Logger, pino } from 'pino';

export interface TestPostgres {
  readonly connection: PostgresConnection;
  readonly dataDir: string;
  readonly log: Logger;
  /** Ends it hard (immediate mode: no checkpoint, no farewell) and starts it again after a while. */
  crashAndRestart(downMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** Without fsync unless asked: a test needs no durable disk, a bench does. */
export async function startTestPostgres({ fsync = false }: { fsync?: boolean } = {}): Promise<TestPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'engram-pg-'));
  const runDir = await openRunDir(dataDir);
  const log = pino({ level: 'silent' });
  const start = () => startEmbeddedPostgres({ dataDir, runDir, log, settings: { fsync: fsync ? 'on' : 'off' } });
  let postgres = await start();
  return {
    connection: postgres.connectionConfig,
    dataDir,
    log,
    async crashAndRestart(downMs) {
      process.kill(postgres.pid, 'SIGQUIT');
      await postgres.exited;
      await delay(downMs);
      postgres = await start();
    },
    async stop() {
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
      await rm(runDir, { recursive: true, force: true });
    },
  };
}
