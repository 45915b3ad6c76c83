// Sessions, the log and its readers on a real database.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Coordinator } from '../src/index.js';
import { ada, allEvents, bob, claimOne, kinds, makeSession, makeWaiting, question } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;
let coordinator: Coordinator;

beforeAll(async () => {
  database = await startTestDatabase();
  coordinator = await database.createCoordinator();
});
afterAll(() => database.stop());

const message = (text: string) =>
  ({ type: 'agent_message', run_id: 'r', message_id: 'm', role: 'assistant', text }) as const;

describe('making sessions', () => {
  it('stores the session, its first prompt and the command together', async () => {
    const session = await makeSession(coordinator, { prompt: 'Fix the tests\nplease', model: 'opus' });
    expect(session).toMatchObject({
      title: 'Fix the tests',
      agent: 'claude',
      model: 'opus',
      status: 'created',
      running: false,
      awaiting: [],
      owner: 'ada',
      workspace: { kind: 'empty' },
      last_event_idx: 2,
      undelivered: [{ kind: 'prompt', text: 'Fix the tests\nplease' }],
    });
    expect(session.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const events = await allEvents(coordinator, session.id);
    expect(events.map((each) => [each.idx, each.event.type])).toEqual([
      [1, 'session_created'],
      [2, 'prompt_received'],
    ]);
    expect(events[1]?.event).toMatchObject({ text: 'Fix the tests\nplease', by: ada });
  });

  it('gives the session made first for the same key of the same owner, also to two at once', async () => {
    const make = (owner: typeof ada | typeof bob) =>
      makeSession(coordinator, { owner, idempotencyKey: 'k1', prompt: 'x' });
    const [one, two] = await Promise.all([make(ada), make(ada)]);
    const other = await make(bob);
    expect(two.id).toBe(one.id);
    expect((await make(ada)).id).toBe(one.id);
    expect(other.id).not.toBe(one.id);
    await coordinator.deleteSession(one.id);
    expect((await make(ada)).id).not.toBe(one.id);
  });

  it('finds nothing under an id that is no session, whatever it looks like', async () => {
    for (const id of [randomUUID(), 'x', '', '\0', "'; drop table sessions"]) {
      expect(await coordinator.getSession(id)).toBeUndefined();
      expect(await coordinator.readEvents(id, 0, 10)).toEqual({ events: [], tail: 0 });
      expect(await coordinator.acceptPrompt(id, { text: 'a', prompt_id: 'p', by: ada })).toMatchObject({
        reason: 'not_found',
      });
      expect(await coordinator.deleteSession(id)).toBe(false);
      expect(await coordinator.sessionWishes(id)).toEqual({ sleep: false, deleted: true });
    }
  });

  it('renames and deletes; the log goes with the session and the host is told of its files', async () => {
    const { id } = await makeWaiting(coordinator);
    expect((await coordinator.renameSession(id, 'Other'))?.title).toBe('Other');
    expect(await coordinator.deleteSession(id)).toBe(true);
    expect(await coordinator.getSession(id)).toBeUndefined();
    expect(await coordinator.readEvents(id, 0, 10)).toEqual({ events: [], tail: 0 });
    expect(await coordinator.deletedSessions('h1')).toContain(id);
    await coordinator.confirmDeleted('h1', id);
    expect(await coordinator.deletedSessions('h1')).not.toContain(id);
  });
});

describe('the log', () => {
  it('appends by the harness count once, skips repeats and refuses a gap', async () => {
    const session = await makeSession(coordinator, { prompt: 'x' });
    const { epoch } = await claimOne(coordinator, session.id);
    const numbered = [1, 2, 3].map((seq) => ({ seq, event: message(String(seq)) }));
    expect(await coordinator.appendEvents(session.id, epoch, numbered.slice(0, 2))).toEqual({ ok: true, storedSeq: 2 });
    expect(await coordinator.appendEvents(session.id, epoch, numbered)).toEqual({ ok: true, storedSeq: 3 });
    await expect(coordinator.appendEvents(session.id, epoch, [{ seq: 9, event: message('9') }])).rejects.toMatchObject({
      code: 'sequence_gap',
    });
    const texts = (await allEvents(coordinator, session.id)).flatMap(({ event }) =>
      'text' in event && event.type === 'agent_message' ? [event.text] : [],
    );
    expect(texts).toEqual(['1', '2', '3']);
  });

  it('keeps texts that jsonb would refuse, and others exactly', async () => {
    const session = await makeSession(coordinator, { prompt: 'a\0b' });
    const held = await claimOne(coordinator, session.id);
    const texts = [
      'a\0b',
      '\ud83d',
      'x\udc00y',
      'literal \\u0000 and \\ud83d',
      '😀 pair',
      '\u0001\u001b[31m',
      '\ufeffbom',
    ];
    await held.say(...texts.map(message), {
      type: 'user_question',
      run_id: 'r\0',
      tool_call_id: 'c\0',
      questions: [{ ...question, question: 'q\0?' }],
    });
    const stored = (await allEvents(coordinator, session.id)).flatMap(({ event }) =>
      event.type === 'agent_message' && 'text' in event ? [event.text] : [],
    );
    expect(stored).toEqual([
      'a\ufffdb',
      '\ufffd',
      'x\ufffdy',
      'literal \\u0000 and \\ud83d',
      '😀 pair',
      '\u0001\u001b[31m',
      '\ufeffbom',
    ]);
    const answers = { 'q\0?': ['vi'] };
    expect(await coordinator.acceptAnswer(session.id, { tool_call_id: 'c\0', answers, by: ada })).toEqual({
      ok: true,
      state: 'sent',
    });
    await held.say({ type: 'question_answered', run_id: 'r', tool_call_id: 'c\0', answers });
    expect((await coordinator.getSession(session.id))?.awaiting).toEqual([]);
  });

  it('keeps an event of a newer harness byte for byte', async () => {
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    await held.say({ type: 'unknown', index: 99, bytes: Uint8Array.from([0, 255, 7]) }, message('after'));
    const events = await allEvents(coordinator, session.id);
    expect(events.at(-2)?.event).toEqual({ type: 'unknown', index: 99, bytes: 'AP8H' });
  });

  it('cuts a row that is beyond every bound and says so', async () => {
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    await held.say(message('é'.repeat(3_000_000)));
    const last = (await allEvents(coordinator, session.id)).at(-1)?.event;
    expect(last).toMatchObject({ type: 'agent_message', message_id: 'm' });
    expect(last).toHaveProperty('cut_from_bytes');
    expect(JSON.stringify(last).length).toBeLessThan(1_100_000);
  });

  it('reads in pages to the very tail, bounded by rows and by bytes', async () => {
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    await held.say(...Array.from({ length: 40 }, () => message('y'.repeat(400_000))));
    const page = await coordinator.readEvents(session.id, 0, 1_000);
    expect(page.tail).toBe(43);
    expect(page.events.length).toBeGreaterThan(15);
    expect(page.events.length).toBeLessThan(30);
    expect((await allEvents(coordinator, session.id)).map((each) => each.idx)).toEqual(
      Array.from({ length: 43 }, (_, at) => at + 1),
    );
    expect(await coordinator.readEvents(session.id, 1_000, 10)).toEqual({ events: [], tail: 43 });
    expect((await coordinator.readEvents(session.id, 2, 2)).events.map((each) => each.idx)).toEqual([3, 4]);
    // From the end, the same log: each page ends where the one after it begins.
    const found: number[] = [];
    for (let before = Number.MAX_SAFE_INTEGER; ; before = found[0] ?? 0) {
      const { events, tail } = await coordinator.readEventsBefore(session.id, before, 1_000);
      expect(tail).toBe(43);
      expect(events.length).toBeLessThan(30);
      if (events.length === 0) break;
      found.unshift(...events.map((each) => each.idx));
    }
    expect(found).toEqual(Array.from({ length: 43 }, (_, at) => at + 1));
    expect((await coordinator.readEventsBefore(session.id, 44, 2)).events.map((each) => each.idx)).toEqual([42, 43]);
  });

  it('stores events whatever their size and stays silent about their content', async () => {
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    for (const size of [7_999, 8_000, 9_000]) {
      await held.say({
        type: 'user_question',
        run_id: 'r',
        tool_call_id: `t${size}`,
        questions: [{ ...question, question: '😀'.repeat(size / 4) }],
      });
    }
    expect((await kinds(coordinator, session.id)).filter((kind) => kind === 'user_question')).toHaveLength(3);
  });

  it('adds up usage and follows the open run', async () => {
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    await held.say({ type: 'run_started', run_id: 'r1' });
    expect((await coordinator.getSession(session.id))?.running).toBe(true);
    const usage = {
      type: 'usage',
      run_id: 'r1',
      input_tokens: 10,
      output_tokens: 2,
      cache_read_tokens: 3,
      cache_write_tokens: 4,
    } as const;
    await held.say(usage, { ...usage, cost_micro_usd: 50 }, { type: 'run_completed', run_id: 'r1', ok: true });
    const after = await coordinator.getSession(session.id);
    expect(after?.running).toBe(false);
    expect(after?.usage).toEqual({
      input_tokens: 20,
      output_tokens: 4,
      cache_read_tokens: 6,
      cache_write_tokens: 8,
      cost_micro_usd: 50,
    });
  });
});

describe('lists', () => {
  it('lists sessions by newest activity with cursors, filters, and refuses a foreign cursor', async () => {
    const owner = { id: `owner-${randomUUID()}`, name: 'O' };
    const ids: string[] = [];
    for (let at = 0; at < 5; at += 1) ids.push((await makeSession(coordinator, { owner })).id);
    const moved = ids[0] ?? '';
    await coordinator.acceptPrompt(moved, { text: 'x', prompt_id: 'p', by: owner });
    const expected = [moved, ...ids.slice(1).reverse()];
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await coordinator.listSessions({
        owner: owner.id,
        limit: 2,
        ...(cursor === undefined ? {} : { cursor }),
      });
      if ('ok' in page) throw new Error(page.reason);
      seen.push(...page.items.map((session) => session.id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(expected);
    for (const bad of ['x', '', 'AAAA', Buffer.from('1 nope').toString('base64url'), '😀']) {
      expect(await coordinator.listSessions({ owner: owner.id, limit: 2, cursor: bad })).toEqual({
        ok: false,
        reason: 'invalid_cursor',
      });
      expect(await coordinator.listPendingQuestions({ owner: owner.id, limit: 2, cursor: bad })).toEqual({
        ok: false,
        reason: 'invalid_cursor',
      });
    }
    const idle = await coordinator.listSessions({ owner: owner.id, limit: 9, status: 'idle' });
    expect(idle).toEqual({ items: [] });
  });

  it('lists open questions oldest first, an owner sees only his own', async () => {
    const owner = { id: `owner-${randomUUID()}`, name: 'O' };
    const held = [];
    for (const call of ['a', 'b', 'c']) held.push(await makeWaiting(coordinator, call, { owner }));
    await makeWaiting(coordinator, 'other', { owner: bob });
    const first = await coordinator.listPendingQuestions({ owner: owner.id, limit: 2 });
    if ('ok' in first) throw new Error(first.reason);
    expect(first.items.map((each) => each.tool_call_id)).toEqual(['a', 'b']);
    expect(first.items[0]).toMatchObject({ session_id: held[0]?.id, questions: [question], state: 'waiting' });
    const second = await coordinator.listPendingQuestions({
      owner: owner.id,
      limit: 2,
      cursor: first.nextCursor ?? '',
    });
    expect(second).toMatchObject({ items: [{ tool_call_id: 'c' }] });
    const awaiting = await coordinator.listSessions({ owner: owner.id, limit: 9, awaiting: true });
    expect('items' in awaiting && awaiting.items.length).toBe(3);
    expect(await coordinator.listSessions({ owner: owner.id, limit: 9, awaiting: false })).toEqual({ items: [] });
  });
});

describe('owners', () => {
  const sum = (byte: number) => new Uint8Array(32).fill(byte);

  it('knows tokens, gives a login code out once and in time, and forgets browsers in time', async () => {
    await coordinator.putToken(sum(1), ada);
    expect(await coordinator.findTokenOwner(sum(1))).toEqual(ada);
    expect(await coordinator.findTokenOwner(sum(2))).toBeUndefined();
    await coordinator.putLoginCode(sum(3), ada, 60_000);
    const taken = await Promise.all([coordinator.takeLoginCode(sum(3)), coordinator.takeLoginCode(sum(3))]);
    expect(taken.filter((owner) => owner !== undefined)).toEqual([ada]);
    await coordinator.putLoginCode(sum(4), ada, -1);
    expect(await coordinator.takeLoginCode(sum(4))).toBeUndefined();
    await coordinator.putBrowserSession(sum(5), bob, 60_000);
    expect(await coordinator.findBrowserSession(sum(5))).toEqual(bob);
    await coordinator.putBrowserSession(sum(5), bob, -1);
    expect(await coordinator.findBrowserSession(sum(5))).toBeUndefined();
  });
});
