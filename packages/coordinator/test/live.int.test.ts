// Live views across processes: hints, polls, chunks, a lost listener, and nothing left behind.

import { setTimeout as delay } from 'node:timers/promises';
import type { AgentMessageChunk } from '@engram/harness-proto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Coordinator, PostgresConnection } from '../src/index.js';
import { ada, ask, claimOne, makeSession, question } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;
let connection: PostgresConnection;
/** Two processes as far as the database can tell. */
let server: Coordinator;
let host: Coordinator;

beforeAll(async () => {
  database = await startTestDatabase();
  connection = await database.makeDatabase();
  server = await database.createCoordinator({ connection, pollMs: 60_000 });
  host = await database.createCoordinator({ connection, pollMs: 60_000 });
});
afterAll(() => database.stop());

const message = (text: string) =>
  ({ type: 'agent_message', run_id: 'r', message_id: 'm', role: 'assistant', text }) as const;
const chunk = (text: string): AgentMessageChunk => ({
  type: 'agent_message_chunk',
  run_id: 'r',
  message_id: 'm',
  chunk: text,
});

function watch(coordinator: Coordinator, id: string) {
  const seen = { tails: [] as number[], text: '', deleted: 0 };
  const stop = coordinator.watchSession(id, {
    onEvents: (tail) => seen.tails.push(tail),
    onChunk: (piece) => {
      seen.text += piece.chunk;
    },
    onDeleted: () => {
      seen.deleted += 1;
    },
  });
  return { seen, stop };
}

const listeners = async (): Promise<number> => {
  const rows = await database.query(
    connection,
    `select pid from pg_stat_activity where datname = current_database() and query ilike 'listen%' or query = 'select 1'`,
  );
  return rows.length;
};

describe('watching a session', () => {
  it('hears of the tail at once and whenever another process moved it', async () => {
    const session = await makeSession(server, { prompt: 'x' });
    const { seen, stop } = watch(server, session.id);
    await vi.waitFor(() => expect(seen.tails).toEqual([2]));
    const held = await claimOne(host, session.id);
    await vi.waitFor(() => expect(seen.tails.at(-1)).toBe(3), { timeout: 3_000 });
    await held.say(message('a'), message('b'));
    await vi.waitFor(() => expect(seen.tails.at(-1)).toBe(5), { timeout: 3_000 });
    stop();
    await held.say(message('c'));
    await delay(100);
    expect(seen.tails.at(-1)).toBe(5);
  });

  it('brings chunks to the viewers of that session in order, whatever their bytes, and stores none', async () => {
    const session = await makeSession(server, { prompt: 'x' });
    const other = await makeSession(server, { prompt: 'x' });
    const { seen, stop } = watch(server, session.id);
    const unrelated = watch(server, other.id);
    await vi.waitFor(() => expect(seen.tails).toHaveLength(1));
    const pieces = ['Hello ', '😀'.repeat(1_400), 'é'.repeat(3_000), '\0', '"quoted"', ' end'];
    for (const piece of pieces) host.publishChunk(session.id, chunk(piece));
    host.publishChunk(session.id, { ...chunk('😀'.repeat(3_000)), message_id: 'too big' });
    const expected = pieces.join('').replace('\0', '\ufffd');
    await vi.waitFor(() => expect(seen.text).toBe(expected), { timeout: 5_000 });
    expect(unrelated.seen.text).toBe('');
    expect((await server.getSession(session.id))?.last_event_idx).toBe(2);
    stop();
    unrelated.stop();
  });

  it('is told once that the session is gone, also when it never was', async () => {
    const session = await makeSession(server);
    const { seen } = watch(server, session.id);
    const never = watch(server, '00000000-0000-4000-8000-000000000000');
    const nonsense = watch(server, 'nonsense');
    await host.deleteSession(session.id);
    await vi.waitFor(() => expect([seen.deleted, never.seen.deleted, nonsense.seen.deleted]).toEqual([1, 1, 1]), {
      timeout: 5_000,
    });
  });

  it('listens again after its connection was cut, and reads what it missed', async () => {
    const session = await makeSession(server, { prompt: 'x' });
    const { seen, stop } = watch(server, session.id);
    await vi.waitFor(() => expect(seen.tails).toEqual([2]));
    await database.query(
      connection,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await host
      .acceptPrompt(session.id, { text: 'y', prompt_id: 'p', by: ada })
      .catch(() => host.acceptPrompt(session.id, { text: 'y', prompt_id: 'p', by: ada }));
    await vi.waitFor(() => expect(seen.tails.at(-1)).toBe(3), { timeout: 10_000 });
    stop();
  });

  it('polls when no hint can come', async () => {
    const poller = await database.createCoordinator({ connection, pollMs: 50 });
    const session = await makeSession(server, { prompt: 'x' });
    const { seen, stop } = watch(poller, session.id);
    await vi.waitFor(() => expect(seen.tails).toEqual([2]));
    await database.query(connection, `update sessions set last_idx = last_idx + 1 where id = '${session.id}'`);
    await vi.waitFor(() => expect(seen.tails).toEqual([2, 3]));
    stop();
  });

  it('holds one connection for a thousand watchers and leaves no reading behind when they go', async () => {
    const session = await makeSession(server, { prompt: 'x' });
    const before = await listeners();
    for (let at = 0; at < 1_000; at += 1) watch(server, session.id).stop();
    const all = Array.from({ length: 100 }, () => watch(server, session.id));
    await vi.waitFor(() => expect(all.every(({ seen }) => seen.tails.length === 1)).toBe(true));
    expect(await listeners()).toBeLessThanOrEqual(before + 1);
    for (const { stop } of all) stop();
    await delay(50);
    const handles = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    watch(server, session.id).stop();
    expect(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length).toBeLessThanOrEqual(handles);
  });
});

describe('watching as a host', () => {
  it('hears of claimable work, and of every change for a session it holds', async () => {
    const changed: string[] = [];
    let claimable = 0;
    const stop = host.watchHost('h7', {
      onClaimable: () => (claimable += 1),
      onSessionChanged: (id) => changed.push(id),
    });
    await vi.waitFor(() => expect(claimable).toBeGreaterThan(0));
    const before = claimable;
    const session = await makeSession(server, { prompt: 'x' });
    await vi.waitFor(() => expect(claimable).toBeGreaterThan(before), { timeout: 3_000 });
    await claimOne(host, session.id, 'h7');
    const steps = [
      () => server.acceptPrompt(session.id, { text: 'y', prompt_id: 'p1', by: ada }),
      () => server.sleep(session.id),
      () => server.wake(session.id),
      () => server.deleteSession(session.id),
    ];
    for (const step of steps) {
      changed.length = 0;
      await step();
      await vi.waitFor(() => expect(changed).toContain(session.id), { timeout: 3_000 });
    }
    stop();
  });

  it.each([
    ['held here asks for no claim', async () => undefined],
    [
      'given up unnoticed is named, for the host to claim it again',
      async (id: string) => {
        await database.query(
          connection,
          `update sessions set lease_host = null, lease_until = null where id = '${id}'`,
        );
      },
    ],
  ])('an answer to a session that is %s', async (_case, meanwhile) => {
    const session = await makeSession(server, { prompt: 'x' });
    const held = await claimOne(host, session.id, 'h8');
    await held.say({ type: 'run_started', run_id: 'r1', prompt_id: 'p' }, ...ask('t8'));
    const changed: string[] = [];
    let claimable = 0;
    const stop = host.watchHost('h8', {
      onClaimable: () => (claimable += 1),
      onSessionChanged: (id) => changed.push(id),
    });
    await vi.waitFor(() => expect(changed).toContain(session.id), { timeout: 3_000 });
    // What came with the first reading is over.
    await delay(100);
    await meanwhile(session.id);
    changed.length = 0;
    claimable = 0;
    const answered = await server.acceptAnswer(session.id, {
      tool_call_id: 't8',
      answers: { [question.question]: ['vi'] },
      by: ada,
    });
    expect(answered.ok).toBe(true);
    await vi.waitFor(() => expect(changed).toEqual([session.id]), { timeout: 3_000 });
    await delay(100);
    expect(claimable).toBe(0);
    stop();
  });
});
