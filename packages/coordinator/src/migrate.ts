// Brings the database to this release's schema: forward only, one transaction a step, under an
// advisory lock so that any number of processes may start together.
//
// Old and new run side by side on one database, so almost every step is an *addition*: it keeps all
// that an older release reads and writes working (new tables, columns with a default, indexes), and
// older releases do not notice it. A *level* is a break: releases that do not know it refuse to
// start, because guessing what it means could lose what people stored. See docs/adr/0016.

import { sql } from 'kysely';
import type { Logger } from 'pino';
import { CoordinatorError } from './coordinator-error.js';
import type { Db } from './database.js';
import { sessionsMigration } from './migrations/0001-sessions.js';
import { attachmentsAddition } from './migrations/attachments.js';
import { filesAndHostsAddition } from './migrations/files-and-hosts.js';
import { hostFiguresAddition } from './migrations/host-figures.js';

export interface SchemaStep {
  readonly kind: 'level' | 'addition';
  /** Unique for ever; it is how the database remembers an addition. */
  readonly name: string;
  readonly statements: string;
}

/**
 * In order; one that was released is never changed, removed or moved. Append additions here. They run while
 * older processes work: short locks only, nothing that fails an insert which does not know of them.
 */
export const SCHEMA_STEPS: readonly SchemaStep[] = [
  { kind: 'level', name: 'sessions', statements: sessionsMigration },
  { kind: 'addition', name: 'files-and-hosts', statements: filesAndHostsAddition },
  { kind: 'addition', name: 'attachments', statements: attachmentsAddition },
  { kind: 'addition', name: 'host-figures', statements: hostFiguresAddition },
];

/** Whoever changes the schema holds it. */
export const MIGRATION_LOCK = 7_305_217_001;

/** Where the database remembers which steps it has had. */
export const SCHEMA_TABLES: readonly string[] = ['engram_schema', 'engram_schema_additions'];
export const SCHEMA_TABLES_SQL: readonly string[] = [
  `create table if not exists engram_schema (
    version integer primary key, name text not null, applied_at timestamptz(3) not null default now())`,
  `create table if not exists engram_schema_additions (
    name text primary key, applied_at timestamptz(3) not null default now())`,
];

export async function migrate(db: Db, log: Logger, steps: readonly SchemaStep[] = SCHEMA_STEPS): Promise<void> {
  for (;;) {
    const done = await db.transaction().execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(tx);
      for (const statement of SCHEMA_TABLES_SQL) await sql.raw(statement).execute(tx);
      const found = await readSchemaState(tx);
      const known = steps.filter((step) => step.kind === 'level').length;
      if (found.level > known) throw newerSchema(found.level, known);
      const next = nextStep(steps, found);
      if (next === undefined) return true;
      await sql.raw(next.statements).execute(tx);
      if (next.kind === 'level')
        await sql`insert into engram_schema (version, name) values (${found.level + 1}, ${next.name})`.execute(tx);
      else await sql`insert into engram_schema_additions (name) values (${next.name})`.execute(tx);
      log.info({ kind: next.kind, name: next.name }, 'schema step applied');
      return false;
    });
    if (done) return;
  }
}

interface SchemaState {
  readonly level: number;
  /** Names; those of a newer release among them. */
  readonly additions: readonly string[];
}

/** Both tables must be there. */
async function readSchemaState(db: Db): Promise<SchemaState> {
  const levels = await sql<{
    level: number;
  }>`select coalesce(max(version), 0)::int as level from engram_schema`.execute(db);
  const additions = await sql<{ name: string }>`select name from engram_schema_additions order by name`.execute(db);
  return { level: levels.rows[0]?.level ?? 0, additions: additions.rows.map((row) => row.name) };
}

function nextStep(steps: readonly SchemaStep[], found: SchemaState): SchemaStep | undefined {
  let level = 0;
  for (const step of steps) {
    if (step.kind === 'level') level += 1;
    if (step.kind === 'level' ? level > found.level : !found.additions.includes(step.name)) return step;
  }
  return undefined;
}

function newerSchema(level: number, known: number): CoordinatorError {
  return new CoordinatorError(
    'schema_newer',
    `The database has schema ${level}, this release of Engram knows ${known}. ` +
      'A newer release has used it: start that one, or restore a backup made before the upgrade.',
  );
}
