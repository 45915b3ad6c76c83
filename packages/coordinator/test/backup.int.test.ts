// A backup brings every row back exactly, is one moment of a database that goes on working, and what is torn,
// damaged, newer or not empty is refused before anything changes.

import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dumpDatabase, type RestoreSummary, restoreDatabase, withBackupClient } from '../src/backup/index.js';
import { type Coordinator, CoordinatorError, type PostgresConnection } from '../src/index.js';
import { ada, claimOne, hostInfo, makeSession, makeWaiting } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

const log = pino({ level: 'silent' });
let database: TestDatabase;
let source: PostgresConnection;
let coordinator: Coordinator;

/** What a later release may store, and what text formats trip over. */
const ODD_JSON = [
  '{"n": 1e400, "m": 12345678901234567890.000000000000000000010, "s": "tab\\tline\\nback\\\\slash \\\\. quote\\" \\u2028"}',
  '{"": {"\\\\N": [null, true, []]}, "nul as text": "\\\\u0000", "emoji": "🦊🏳️‍🌈", "bidi": "\\u202e"}',
  '"\\\\."',
  'null',
  `{"long": "${'ä\\n'.repeat(30_000)}"}`,
];

beforeAll(async () => {
  database = await startTestDatabase();
  source = await database.makeDatabase();
  coordinator = await database.createCoordinator({ connection: source });
  await makeWaiting(coordinator);
  await coordinator.heartbeat(hostInfo('h1'));
  await coordinator.putToken(Buffer.alloc(32, 0xff), ada);
  await coordinator.acceptPrompt(
    (await makeSession(coordinator, { title: '\\.\n\\N\ttitle', idempotencyKey: 'k' })).id,
    {
      text: '\\.',
      prompt_id: randomUUID(),
      by: ada,
    },
  );
  const { id } = await makeSession(coordinator);
  for (const [at, json] of ODD_JSON.entries()) {
    await database.query(
      source,
      `insert into events (session_id, idx, at, kind, data, raw, size) values ($1, $2, now(), $3, $4::jsonb, $5, 1)`,
      [id, 100 + at, `kind of ${at}\t\\`, json, Buffer.from([0, 10, 92, 46, 10, 255, at])],
    );
  }
});
afterAll(() => database.stop());

async function backup(connection: PostgresConnection): Promise<Buffer> {
  const parts: Buffer[] = [];
  await withBackupClient(connection, log, async (client) => {
    for await (const part of dumpDatabase(client, '0.2.0')) parts.push(part);
  });
  return Buffer.concat(parts);
}

async function* inPieces(bytes: Buffer, size = 1_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function restore(bytes: Buffer, size?: number): Promise<{ target: PostgresConnection; summary: RestoreSummary }> {
  const target = await database.makeDatabase();
  return { target, summary: await restoreDatabase(target, inPieces(bytes, size), log) };
}

/** Every table as text, row by row. */
async function contents(connection: PostgresConnection): Promise<Record<string, unknown>> {
  const tables = await database.query(
    connection,
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
  );
  const all: Record<string, unknown> = {};
  for (const { name } of tables) {
    // When a schema step ran is a fact of the database it ran in.
    const row = String(name).startsWith('engram_schema') ? 't.name' : 't::text';
    const rows = await database.query(connection, `select ${row} as row from ${String(name)} t order by 1`);
    all[String(name)] = rows.map((each) => each.row);
  }
  return all;
}

async function refusal(work: Promise<unknown>): Promise<CoordinatorError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof CoordinatorError) return error;
  throw new Error(`not refused: ${String(error)}`);
}

const tablesOf = (connection: PostgresConnection) =>
  database.query(connection, `select relname from pg_class where relnamespace = 'public'::regnamespace`);

describe('a backup', () => {
  it('brings back every row of every table, whatever kinds and values it holds', async () => {
    const before = await contents(source);
    const bytes = await backup(source);
    const { target, summary } = await restore(bytes);
    expect(await contents(target)).toEqual(before);
    expect(summary).toMatchObject({ madeBy: '0.2.0', rows: { sessions: 3, tokens: 1, hosts: 1 } });
    expect(Object.keys(before).filter((name) => !name.startsWith('engram_'))).toEqual(Object.keys(summary.rows).sort());
    // Ids go on behind the old ones.
    const again = await database.createCoordinator({ connection: target });
    const { id } = await makeSession(again);
    await again.acceptPrompt(id, { text: 'next', prompt_id: randomUUID(), by: ada });
    const rows = await database.query(target, 'select count(*) as n, count(distinct id) as ids from outbox');
    expect(rows[0]?.n).toEqual(rows[0]?.ids);
    // And a question that waited still takes its answer.
    const pending = await again.listPendingQuestions({ owner: ada.id, limit: 10 });
    const first = 'items' in pending ? pending.items[0] : undefined;
    const taken = await again.acceptAnswer(first?.session_id ?? '', {
      tool_call_id: 't1',
      answers: { 'Which editor?': ['vi'] },
      by: ada,
    });
    expect(taken).toEqual({ ok: true, state: 'sent' });
  });

  it('is read the same whatever the pieces it comes in', async () => {
    const bytes = await backup(source);
    const { target } = await restore(bytes, 7);
    expect(await contents(target)).toEqual(await contents(source));
  });

  it('is one moment of a log that grows meanwhile', async () => {
    const connection = await database.makeDatabase();
    const busy = await database.createCoordinator({ connection });
    const { id } = await makeSession(busy);
    await busy.acceptPrompt(id, { text: 'go', prompt_id: randomUUID(), by: ada });
    const held = await claimOne(busy, id);
    let going = true;
    const writing = (async () => {
      while (going) {
        await held.say({
          type: 'agent_message',
          run_id: 'r',
          message_id: randomUUID(),
          role: 'assistant',
          text: 'x'.repeat(500),
        });
      }
    })();
    try {
      for (let round = 0; round < 3; round += 1) {
        const { target } = await restore(await backup(connection));
        const [row] = await database.query(
          target,
          `select s.last_idx as tail, (select count(*) from events e where e.session_id = s.id) as n,
             (select max(idx) from events e where e.session_id = s.id) as top, s.harness_seq as seq from sessions s`,
        );
        expect(row).toMatchObject({ n: row?.tail, top: row?.tail });
        expect(Number(row?.seq)).toBe(Number(row?.tail) - 3);
      }
    } finally {
      going = false;
      await writing;
    }
  });

  it('leaves alone what is not Engram’s in the same schema, and says so', async () => {
    const connection = await database.makeDatabase();
    await database.createCoordinator({ connection });
    await database.query(connection, 'create table theirs (a int)');
    const summary = await withBackupClient(connection, log, async (client) => {
      const dump = dumpDatabase(client, '0.2.0');
      for (;;) {
        const step = await dump.next();
        if (step.done === true) return step.value;
      }
    });
    expect(summary.skipped).toEqual(['theirs']);
    expect(Object.keys(summary.rows)).not.toContain('theirs');
  });

  it('of a database without Engram is refused', async () => {
    expect(await refusal(backup(await database.makeDatabase()))).toMatchObject({
      message: expect.stringContaining('nothing to back up'),
    });
  });
});

describe('a restore', () => {
  it('of a torn or changed file changes nothing and says so, wherever it is torn', async () => {
    const bytes = await backup(source);
    const target = await database.makeDatabase();
    const cuts = [
      0,
      1,
      40,
      400,
      Math.floor(bytes.length / 3),
      Math.floor(bytes.length / 2),
      bytes.length - 200,
      bytes.length - 1,
    ];
    for (const cut of cuts) {
      const error = await refusal(restoreDatabase(target, inPieces(bytes.subarray(0, cut)), log));
      expect(error.code, String(cut)).toBe('backup_damaged');
      expect(await tablesOf(target)).toEqual([]);
    }
    const changed = Buffer.from(bytes);
    const at = changed.indexOf('Which editor?');
    changed.write('whose', at);
    expect(await refusal(restoreDatabase(target, inPieces(changed), log))).toMatchObject({
      code: 'backup_damaged',
      message: expect.stringContaining('checksum'),
    });
    const more = Buffer.concat([bytes, Buffer.from('x')]);
    expect((await refusal(restoreDatabase(target, inPieces(more), log))).code).toBe('backup_damaged');
    const text = await refusal(restoreDatabase(target, inPieces(Buffer.from('-- PostgreSQL dump\n')), log));
    expect(text.message).toContain('not a backup');
    expect(await tablesOf(target)).toEqual([]);
    // The same, untouched, database takes the whole file.
    await restoreDatabase(target, inPieces(bytes), log);
    expect(await contents(target)).toEqual(await contents(source));
  });

  it('goes into an empty database only', async () => {
    const bytes = await backup(source);
    const { target } = await restore(bytes);
    const before = await contents(target);
    const error = await refusal(restoreDatabase(target, inPieces(bytes), log));
    expect([error.code, error.message]).toEqual(['database_not_empty', expect.stringContaining('--data-dir')]);
    expect(await contents(target)).toEqual(before);
    const used = await database.makeDatabase();
    await database.createCoordinator({ connection: used });
    expect((await refusal(restoreDatabase(used, inPieces(bytes), log))).code).toBe('database_in_use');
  });

  it('of a newer release’s backup names what is not known here', async () => {
    const connection = await database.makeDatabase();
    await database.createCoordinator({ connection });
    await database.query(connection, `insert into engram_schema_additions (name) values ('from tomorrow')`);
    await database.query(connection, `create table tomorrow (a int); insert into tomorrow values (1)`);
    // An older release takes along what it does not know.
    const bytes = await backup(connection);
    expect(bytes.includes('"table":"tomorrow"')).toBe(true);
    const target = await database.makeDatabase();
    expect(await refusal(restoreDatabase(target, inPieces(bytes), log))).toMatchObject({
      code: 'backup_newer',
      message: expect.stringContaining('from tomorrow'),
    });
    const format = Buffer.from(bytes.toString('latin1').replace('"engram_backup":1', '"engram_backup":2'), 'latin1');
    expect((await refusal(restoreDatabase(target, inPieces(format), log))).code).toBe('backup_newer');
    expect(await tablesOf(target)).toEqual([]);
  });
});
