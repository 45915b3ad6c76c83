// Starting together, starting again, steps that older releases do not notice, and a schema from the future.

import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../src/database.js';
import { migrate, SCHEMA_STEPS, type SchemaStep } from '../src/migrate.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;
const log = pino({ level: 'silent' });

beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database.stop());

async function migrateWith(
  connection: Awaited<ReturnType<TestDatabase['makeDatabase']>>,
  steps: readonly SchemaStep[],
): Promise<void> {
  const { db, close } = openDatabase(connection, 2, log);
  try {
    await migrate(db, log, steps);
  } finally {
    await close();
  }
}

const sorted = (names: readonly unknown[]): readonly string[] => names.map((name) => String(name)).sort();
const addition = (name: string): SchemaStep => ({
  kind: 'addition',
  name,
  statements: `alter table sessions add column ${name} text`,
});

describe('schema', () => {
  it('is made once when many processes start together', async () => {
    const connection = await database.makeDatabase();
    await Promise.all(Array.from({ length: 6 }, () => database.createCoordinator({ connection, poolSize: 2 })));
    expect(await database.query(connection, 'select version, name from engram_schema')).toEqual([
      { version: 1, name: 'sessions' },
    ]);
    const applied = await database.query(connection, 'select name from engram_schema_additions order by applied_at');
    expect(sorted(applied.map(({ name }) => name))).toEqual(
      SCHEMA_STEPS.flatMap((step) => (step.kind === 'addition' ? [step.name] : [])).sort(),
    );
  });

  it('gets additions one by one, whichever release was there first, and keeps what release 0.1.0 checks', async () => {
    const connection = await database.makeDatabase();
    await migrateWith(connection, [...SCHEMA_STEPS, addition('first'), addition('second')]);
    // An older release on it, then one that knows a third but not the second.
    await migrateWith(connection, SCHEMA_STEPS);
    await migrateWith(connection, [...SCHEMA_STEPS, addition('first'), addition('third')]);
    const columns = await database.query(
      connection,
      `select column_name from information_schema.columns where table_name = 'sessions' and column_name in ('first', 'second', 'third')`,
    );
    expect(sorted(columns.map(({ column_name }) => column_name))).toEqual(['first', 'second', 'third']);
    // 0.1.0 refuses to start when this is above 1.
    expect(await database.query(connection, 'select max(version) as version from engram_schema')).toEqual([
      { version: 1 },
    ]);
  });

  it('is left as it was by a step that fails, and goes on from there', async () => {
    const connection = await database.makeDatabase();
    const broken: SchemaStep = { kind: 'addition', name: 'broken', statements: 'create table half (); select 1/0' };
    await expect(migrateWith(connection, [...SCHEMA_STEPS, addition('first'), broken])).rejects.toThrow('division');
    expect(await database.query(connection, `select to_regclass('half') as half`)).toEqual([{ half: null }]);
    await migrateWith(connection, [...SCHEMA_STEPS, addition('first'), { ...broken, statements: 'select 1' }]);
    expect(
      await database.query(
        connection,
        `select name from engram_schema_additions where name in ('first', 'broken') order by 1`,
      ),
    ).toEqual([{ name: 'broken' }, { name: 'first' }]);
  });

  it('from a newer release is refused in words', async () => {
    const connection = await database.makeDatabase();
    await database.createCoordinator({ connection });
    await database.query(connection, `insert into engram_schema (version, name) values (99, 'later')`);
    await expect(database.createCoordinator({ connection })).rejects.toMatchObject({
      code: 'schema_newer',
      message: expect.stringContaining('schema 99'),
    });
  });

  it('cannot be read when the database is away: said at once, by code', async () => {
    const connection = { ...(await database.makeDatabase()), host: '/nonexistent' };
    await expect(database.createCoordinator({ connection })).rejects.toMatchObject({ code: 'unavailable' });
  });
});
