// Everything that Engram keeps in the database as the bytes of a backup: one snapshot, taken while servers
// and hosts go on working. The names of tables and columns come from the database itself, so a table that
// a newer release made is in the backup of an older one.

import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { CoordinatorError } from '../coordinator-error.js';
import { SCHEMA_STEPS, SCHEMA_TABLES } from '../migrate.js';
import { quoted } from './backup-client.js';
import { BACKUP_FORMAT, type FileHeader, ROWS_END, toLine } from './backup-format.js';

const LF = 0x0a;

export interface DumpSummary {
  readonly rows: Readonly<Record<string, number>>;
  /** Tables of the same schema that are not Engram's. */
  readonly skipped: readonly string[];
}

/** Yields the backup's bytes; its return value says what they hold. The client is used for nothing else meanwhile. */
export async function* dumpDatabase(client: Client, madeBy: string): AsyncGenerator<Buffer, DumpSummary> {
  const hash = createHash('sha256');
  const hashed = (bytes: Buffer): Buffer => {
    hash.update(bytes);
    return bytes;
  };
  await client.query('begin isolation level repeatable read read only');
  const { header, skipped } = await readHeader(client, madeBy);
  yield hashed(toLine(header));
  const rows: Record<string, number> = {};
  for (const table of header.tables) {
    const columns = await columnsOf(client, table);
    yield hashed(toLine({ table, columns }));
    const list = columns.map(quoted).join(', ');
    const stream = client.query(copyTo(`copy (select ${list} from ${quoted(table)}) to stdout`));
    let count = 0;
    for await (const chunk of stream) {
      const bytes: Buffer = chunk;
      count += countLines(bytes);
      yield hashed(bytes);
    }
    rows[table] = count;
    yield hashed(ROWS_END);
  }
  // Not part of the snapshot: read after the tables, so never behind them.
  yield hashed(toLine({ sequences: await readSequences(client, header.tables) }));
  yield toLine({ end: { rows, sha256: hash.digest('hex') } });
  await client.query('commit');
  return { rows, skipped };
}

async function readHeader(
  client: Client,
  madeBy: string,
): Promise<{ readonly header: FileHeader; readonly skipped: readonly string[] }> {
  const { rows: found } = await client.query<{ name: string }>(`
    select c.relname as name from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    order by c.relname`);
  const present = found.map((row) => row.name);
  if (!present.includes('engram_schema')) {
    throw new CoordinatorError(
      'unavailable',
      'The database holds no Engram: there is nothing to back up. Check --data-dir or DATABASE_URL.',
    );
  }
  // Release 0.1.0 leaves no list of additions.
  const additions = present.includes('engram_schema_additions')
    ? (await client.query<{ name: string }>('select name from engram_schema_additions order by name')).rows
    : [];
  const level = await client.query<{ level: number }>('select max(version) as level from engram_schema');
  const schema = { level: level.rows[0]?.level ?? 0, additions: additions.map((row) => row.name) };
  const data = present.filter((name) => !SCHEMA_TABLES.includes(name));
  const ours = knowsAll(schema) ? data.filter((name) => tablesOfSteps().has(name)) : data;
  const header = {
    engram_backup: BACKUP_FORMAT,
    made_at: new Date().toISOString(),
    made_by: madeBy,
    schema,
    tables: ours,
  };
  return { header, skipped: data.filter((name) => !ours.includes(name)) };
}

function knowsAll(schema: FileHeader['schema']): boolean {
  const known = new Set(SCHEMA_STEPS.map((step) => step.name));
  const levels = SCHEMA_STEPS.filter((step) => step.kind === 'level').length;
  return schema.level <= levels && schema.additions.every((name) => known.has(name));
}

function tablesOfSteps(): ReadonlySet<string> {
  const made = SCHEMA_STEPS.flatMap((step) => [...step.statements.matchAll(/create table (?:if not exists )?(\w+)/gi)]);
  return new Set(made.flatMap((match) => match[1] ?? []));
}

/** Generated columns come back by themselves. */
async function columnsOf(client: Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [quoted(table)],
  );
  return rows.map((row) => row.name);
}

async function readSequences(
  client: Client,
  tables: readonly string[],
): Promise<{ name: string; last_value: string; is_called: boolean }[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c
     join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')
     join pg_class t on t.oid = d.refobjid
     where c.relkind = 'S' and c.relnamespace = current_schema()::regnamespace and t.relname = any($1) order by 1`,
    [tables],
  );
  const all = [];
  for (const { name } of rows) {
    const state = await client.query<{ last_value: string; is_called: boolean }>(
      `select last_value::text as last_value, is_called from ${quoted(name)}`,
    );
    const [row] = state.rows;
    if (row !== undefined) all.push({ name, ...row });
  }
  return all;
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) count += 1;
  return count;
}
