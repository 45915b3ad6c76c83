// Brings the database to this release's schema: forward only, one transaction a step, under an
// advisory lock so that any number of processes may start together. A schema from a newer release
// is refused: guessing what it means could lose what people stored.

import { sql } from 'kysely';
import type { Logger } from 'pino';
import { CoordinatorError } from './coordinator-error.js';
import type { Db } from './database.js';
import { sessionsMigration } from './migrations/0001-sessions.js';

/** Steps in order; a released one is never changed. */
const MIGRATIONS = [{ name: 'sessions', statements: sessionsMigration }] as const;

export const SCHEMA_VERSION: number = MIGRATIONS.length;

const LOCK_KEY = 7_305_217_001;

export async function migrate(db: Db, log: Logger): Promise<void> {
  for (;;) {
    const done = await db.transaction().execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(${LOCK_KEY})`.execute(tx);
      await sql`create table if not exists engram_schema (
        version integer primary key, name text not null, applied_at timestamptz(3) not null default now())`.execute(tx);
      const found = await sql<{
        version: number;
      }>`select coalesce(max(version), 0)::int as version from engram_schema`.execute(tx);
      const version = found.rows[0]?.version ?? 0;
      if (version > SCHEMA_VERSION) throw newerSchema(version);
      const step = MIGRATIONS[version];
      if (step === undefined) return true;
      await sql.raw(step.statements).execute(tx);
      await sql`insert into engram_schema (version, name) values (${version + 1}, ${step.name})`.execute(tx);
      log.info({ version: version + 1, name: step.name }, 'schema step applied');
      return false;
    });
    if (done) return;
  }
}

function newerSchema(version: number): CoordinatorError {
  return new CoordinatorError(
    'schema_newer',
    `The database has schema ${version}, this release of Engram knows ${SCHEMA_VERSION}. ` +
      'A newer release has used it: start that one, or restore a backup made before the upgrade.',
  );
}
