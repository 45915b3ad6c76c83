// Puts a backup into an empty database, all of it or nothing: one transaction makes the schema as it was
// when the backup was made, takes the rows, and is committed only after the file's own checksum held. What
// this release has added to the schema since comes afterwards, as at any start.

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { sql } from 'kysely';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Logger } from 'pino';
import { CoordinatorError } from '../coordinator-error.js';
import { type ConnectionSource, openDatabase } from '../database.js';
import { MIGRATION_LOCK, migrate, SCHEMA_STEPS, SCHEMA_TABLES_SQL, type SchemaStep } from '../migrate.js';
import { quoted, withBackupClient } from './backup-client.js';
import {
  damaged,
  type End,
  type FileHeader,
  parseEnd,
  parseFileHeader,
  parseSection,
  type Sequences,
} from './backup-format.js';
import { type BackupReader, createBackupReader } from './backup-reader.js';

export interface RestoreSummary {
  readonly madeAt: string;
  readonly madeBy: string;
  readonly rows: Readonly<Record<string, number>>;
}

/** `source` is the backup, decompressed. Throws CoordinatorError; the database is then as it was. */
export async function restoreDatabase(
  connection: ConnectionSource,
  source: AsyncIterable<Buffer>,
  log: Logger,
): Promise<RestoreSummary> {
  const reader = createBackupReader(source);
  const header = parseFileHeader(await reader.line());
  const steps = stepsOf(header);
  // Whatever goes wrong, the end of the connection takes everything back.
  const rows = await withBackupClient(connection, log, async (client) => {
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await requireEmpty(client);
    await makeSchema(client, steps, header);
    const counts = await takeRows(client, reader, header);
    await client.query('commit');
    return counts;
  });
  const { db, close } = openDatabase(connection, 1, log);
  try {
    await migrate(db, log);
    // Without it the planner takes full tables for empty ones until autovacuum comes by.
    await sql`analyze`.execute(db);
  } finally {
    await close();
  }
  return { madeAt: header.made_at, madeBy: header.made_by, rows };
}

/** The schema at the time of the backup, as steps of this release. */
function stepsOf({ schema, made_by }: FileHeader): readonly SchemaStep[] {
  const levels = SCHEMA_STEPS.filter((step) => step.kind === 'level');
  const unknown = schema.additions.filter((name) => !SCHEMA_STEPS.some((step) => step.name === name));
  if (schema.level > levels.length || unknown.length > 0) {
    const what =
      unknown.length > 0 ? `holds what a newer release added (${unknown.join(', ')})` : `has schema ${schema.level}`;
    throw new CoordinatorError(
      'backup_newer',
      `The backup, made by release ${made_by}, ${what}; this release of Engram does not know that. ` +
        'Restore it with the newest release that used that database.',
    );
  }
  const kept = levels.slice(0, schema.level);
  return SCHEMA_STEPS.filter((step) => kept.includes(step) || schema.additions.includes(step.name));
}

async function requireEmpty(client: Client): Promise<void> {
  const encoding = await client.query<{ server_encoding: string }>('show server_encoding');
  if (encoding.rows[0]?.server_encoding !== 'UTF8') {
    throw new CoordinatorError(
      'database_unsuitable',
      `The database keeps text as ${encoding.rows[0]?.server_encoding ?? 'something else'}, Engram needs UTF8. ` +
        "Create it with: create database … encoding 'UTF8' template template0.",
    );
  }
  const others = await client.query(
    `select 1 from pg_stat_activity
     where datname = current_database() and application_name = 'engram' and pid <> pg_backend_pid()`,
  );
  if (others.rowCount !== null && others.rowCount > 0) {
    throw new CoordinatorError(
      'database_in_use',
      'Engram servers or hosts use this database right now. Stop them, then restore into a new, empty database.',
    );
  }
  const { rows } = await client.query<{ name: string }>(`
    select c.relname as name from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
      and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    order by 1 limit 4`);
  if (rows.length === 0) return;
  const names = rows.slice(0, 3).map((row) => row.name);
  throw new CoordinatorError(
    'database_not_empty',
    `The database is not empty: it holds ${names.join(', ')}${rows.length > 3 ? ', …' : ''}. ` +
      'Restore into a new data folder (--data-dir) or a new, empty database; what is there is never overwritten.',
  );
}

async function makeSchema(client: Client, steps: readonly SchemaStep[], header: FileHeader): Promise<void> {
  for (const statement of SCHEMA_TABLES_SQL) await client.query(statement);
  let level = 0;
  for (const step of steps) {
    await client.query(step.statements);
    if (step.kind === 'level') {
      level += 1;
      await client.query('insert into engram_schema (version, name) values ($1, $2)', [level, step.name]);
    } else {
      await client.query('insert into engram_schema_additions (name) values ($1)', [step.name]);
    }
  }
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')`,
  );
  const known = new Set(rows.map((row) => row.name));
  const strangers = header.tables.filter((table) => !known.has(table));
  if (strangers.length > 0) throw damaged(`it holds tables that this schema does not have (${strangers.join(', ')})`);
}

async function takeRows(client: Client, reader: BackupReader, header: FileHeader): Promise<End['end']['rows']> {
  const counts: Record<string, number> = {};
  for (;;) {
    const section = parseSection(await reader.line());
    if (section.kind === 'last') {
      await setSequences(client, section.sequences);
      break;
    }
    const { table, columns } = section.header;
    if (!header.tables.includes(table) || table in counts) throw damaged(`the table ${table} is not expected there`);
    const stream = client.query(copyFrom(`copy ${quoted(table)} (${columns.map(quoted).join(', ')}) from stdin`));
    await pipeline(Readable.from(reader.rows(), { objectMode: false }), stream);
    counts[table] = stream.rowCount;
  }
  const sha256 = reader.sha256();
  const end = parseEnd(await reader.line());
  if (end.sha256 !== sha256) throw damaged('its checksum is another one');
  const wrong = header.tables.find((table) => counts[table] !== end.rows[table]);
  if (wrong !== undefined)
    throw damaged(`the table ${wrong} has ${counts[wrong] ?? 0} rows instead of ${end.rows[wrong] ?? 0}`);
  if (!(await reader.atEnd())) throw damaged('something follows its end');
  return counts;
}

async function setSequences(client: Client, sequences: Sequences['sequences']): Promise<void> {
  for (const { name, last_value, is_called } of sequences) {
    await client.query('select setval($1::regclass, $2::bigint, $3)', [quoted(name), last_value, is_called]);
  }
}
