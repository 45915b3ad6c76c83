// Starting together, starting again, and a schema from the future.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database.stop());

describe('schema', () => {
  it('is made once when many processes start together', async () => {
    const connection = await database.makeDatabase();
    await Promise.all(Array.from({ length: 6 }, () => database.createCoordinator({ connection, poolSize: 2 })));
    expect(await database.query(connection, 'select version, name from engram_schema')).toEqual([
      { version: 1, name: 'sessions' },
    ]);
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
