// Many writers and readers at once, a pool of one, and a database that dies under load.

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Coordinator, CoordinatorError, type StoredEvent } from '../src/index.js';
import { ada, allEvents, claimOne, type Held, makeSession, makeWaiting } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database.stop());

const message = (text: string) =>
  ({ type: 'agent_message', run_id: 'r', message_id: 'm', role: 'assistant', text }) as const;
const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1);

/** Reads by cursor until `done`, then once more to the tail. */
async function follow(
  coordinator: Coordinator,
  id: string,
  since: number,
  done: () => boolean,
): Promise<readonly StoredEvent[]> {
  const seen: StoredEvent[] = [];
  for (;;) {
    const last = done();
    const page = await coordinator.readEvents(id, seen.at(-1)?.idx ?? since, 1 + Math.floor(Math.random() * 20));
    seen.push(...page.events);
    if (last && (seen.at(-1)?.idx ?? since) >= page.tail) return seen;
    if (page.events.length === 0) await delay(2);
  }
}

describe('concurrency', () => {
  it('leaves no hole and no double for readers at random cursors while a host and people write to one session', async () => {
    const connection = await database.makeDatabase();
    const [host, server, reader] = await Promise.all([1, 2, 3].map(() => database.createCoordinator({ connection })));
    if (host === undefined || server === undefined || reader === undefined) throw new Error('three were made');
    const session = await makeSession(server, { prompt: 'x' });
    const held = await claimOne(host, session.id);
    let writing = true;
    const readers = [0, 0, 1, 2, 3].map((since) => follow(reader, session.id, since, () => !writing));

    const appends = upTo(100).map((seq) =>
      host.appendEvents(session.id, held.epoch, [{ seq, event: message(`${seq}`) }]),
    );
    const prompts = upTo(40).map((n) => server.acceptPrompt(session.id, { text: `${n}`, prompt_id: `p${n}`, by: ada }));
    await Promise.all([...appends, ...prompts]);
    writing = false;

    const total = 3 + 100 + 40;
    for (const [at, seen] of (await Promise.all(readers)).entries()) {
      const since = [0, 0, 1, 2, 3][at] ?? 0;
      expect(seen.map((each) => each.idx)).toEqual(upTo(total).slice(since));
    }
    const texts = (await allEvents(reader, session.id)).flatMap(({ event }) =>
      event.type === 'agent_message' && 'text' in event ? [event.text] : [],
    );
    expect(texts).toEqual(upTo(100).map(String));
  });

  it('keeps many sessions apart when they share a flush, one refused session included', async () => {
    const coordinator = await database.createCoordinator();
    const sessions = await Promise.all(upTo(30).map(() => makeSession(coordinator, { prompt: 'x' })));
    const claims = await coordinator.claimSessions('h1', 100);
    const outcomes = await Promise.all([
      ...claims.flatMap(({ session, epoch }) =>
        upTo(10).map((seq) =>
          coordinator.appendEvents(session.id, epoch, [{ seq, event: message(`${session.id} ${seq}`) }]),
        ),
      ),
      coordinator.appendEvents(sessions[0]?.id ?? '', 99, [{ seq: 1, event: message('stale') }]),
      coordinator.appendEvents(randomUUID(), 1, [{ seq: 1, event: message('nobody') }]),
    ]);
    expect(outcomes.filter((outcome) => !outcome.ok)).toHaveLength(2);
    for (const { id } of sessions) {
      const events = await allEvents(coordinator, id);
      expect(events.map((each) => each.idx)).toEqual(upTo(13));
      expect(events.slice(3).map(({ event }) => 'text' in event && event.text)).toEqual(
        upTo(10).map((seq) => `${id} ${seq}`),
      );
    }
  });

  it('does everything with a pool of one connection: no work inside a transaction leaves its handle', async () => {
    const coordinator = await database.createCoordinator({ poolSize: 1 });
    const held = await makeWaiting(coordinator);
    await coordinator.acceptAnswer(held.id, { tool_call_id: 't1', answers: { 'Which editor?': ['vi'] }, by: ada });
    await coordinator.acceptPrompt(held.id, { text: 'x', prompt_id: 'p1', by: ada });
    await coordinator.editPrompt(held.id, 'p1', 'y');
    await coordinator.interrupt(held.id, ada);
    const again = await claimOne(coordinator, held.id);
    await coordinator.attachFacts(held.id, again.epoch);
    await coordinator.setStatus(held.id, again.epoch, 'evicting');
    await coordinator.releaseLease(held.id, again.epoch, 'failed');
    await coordinator.wake(held.id);
    await coordinator.sleep(held.id);
    expect(await coordinator.deleteSession(held.id)).toBe(true);
  });
});

describe('appending again', () => {
  it('stores each event once and in order, however the harness slices and repeats them', async () => {
    const coordinator = await database.createCoordinator();
    const total = 120;
    // Kinds that only go into the log, and kinds that do more, in one sequence.
    const events = upTo(total).map((seq) =>
      seq % 7 === 0
        ? ({ type: 'run_started', run_id: `${seq}` } as const)
        : seq % 11 === 0
          ? ({ type: 'unknown', index: 90, bytes: Uint8Array.from([seq]) } as const)
          : message(`${seq}`),
    );
    const expected = events.map((event) =>
      'text' in event ? event.text : 'run_id' in event ? event.run_id : Buffer.from(event.bytes).toString('base64'),
    );
    for (let round = 0; round < 5; round += 1) {
      const session = await makeSession(coordinator, { prompt: 'x' });
      const held = await claimOne(coordinator, session.id);
      let stored = 0;
      while (stored < total) {
        const slices = upTo(3).map(() => {
          const from = Math.max(1, stored + 1 - Math.floor(Math.random() * 6));
          return { from, to: Math.min(total, stored + 1 + Math.floor(Math.random() * 8)) };
        });
        const outcomes = await Promise.all(
          slices.map(({ from, to }) =>
            coordinator.appendEvents(
              session.id,
              held.epoch,
              events.slice(from - 1, to).map((event, at) => ({ seq: from + at, event })),
            ),
          ),
        );
        for (const outcome of outcomes) if (outcome.ok) stored = Math.max(stored, outcome.storedSeq);
      }
      const log = await allEvents(coordinator, session.id);
      expect(log.map((each) => each.idx)).toEqual(upTo(total + 3));
      const told = log
        .slice(3)
        .map(({ event }) =>
          'text' in event ? event.text : 'run_id' in event ? event.run_id : 'bytes' in event && event.bytes,
        );
      expect(told).toEqual(expected);
    }
  });
});

describe('an event the database refuses', () => {
  it('is replaced by a notice in its place; nothing before, behind or beside it is lost', async () => {
    const coordinator = await database.createCoordinator();
    const [one, two] = await Promise.all([
      makeSession(coordinator, { prompt: 'x' }),
      makeSession(coordinator, { prompt: 'x' }),
    ]);
    const held = await coordinator.claimSessions('h1', 9);
    const epoch = held[0]?.epoch ?? 0;
    const poison = {
      type: 'usage',
      run_id: 'r',
      input_tokens: 1.5,
      output_tokens: 0,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
    } as const;
    const events = [message('a'), poison, { type: 'run_completed', run_id: 'r', ok: true } as const, message('b')];
    const outcomes = await Promise.all([
      coordinator.appendEvents(
        one.id,
        epoch,
        events.map((event, at) => ({ seq: at + 1, event })),
      ),
      coordinator.appendEvents(two.id, epoch, [{ seq: 1, event: { type: 'harness_idle' } }]),
    ]);
    expect(outcomes).toEqual([
      { ok: true, storedSeq: 4 },
      { ok: true, storedSeq: 1 },
    ]);
    const stored = (await allEvents(coordinator, one.id))
      .slice(3)
      .map(({ event }) => ('code' in event ? event.code : event.type));
    expect(stored).toEqual(['agent_message', 'event_not_stored', 'run_completed', 'agent_message']);
    expect((await allEvents(coordinator, two.id)).at(-1)?.event.type).toBe('harness_idle');
  });
});

describe('a database that dies', () => {
  it('keeps every acknowledged prompt and event over SIGKILL, stores none twice, and goes on by itself', async () => {
    const connection = await database.makeDatabase();
    const host = await database.createCoordinator({ connection, leaseMs: 60_000 });
    const server = await database.createCoordinator({ connection });
    const sessions = await Promise.all(upTo(5).map(() => makeSession(server, { prompt: 'x' })));
    const held: Held[] = [];
    for (const claim of await host.claimSessions('h1', 10)) {
      const epoch = claim.epoch;
      const id = claim.session.id;
      held.push({ id, epoch, seq: 0, say: async () => undefined });
    }
    let tails = 0;
    const stop = server.watchSession(sessions[0]?.id ?? '', {
      onEvents: () => (tails += 1),
      onChunk: () => undefined,
      onDeleted: () => undefined,
    });
    const acked = new Map<string, number>();
    const accepted: string[] = [];
    let running = true;
    const writers = held.map(async ({ id, epoch }) => {
      for (let seq = 1; running; seq += 1) {
        const outcome = await host.appendEvents(id, epoch, [{ seq, event: message(`${seq}`) }]);
        if (!outcome.ok) throw new Error(outcome.reason);
        acked.set(id, seq);
      }
    });
    const people = (async () => {
      for (let n = 1; running; n += 1) {
        const prompt = { text: 'x', prompt_id: `p${n}`, by: ada };
        try {
          await server.acceptPrompt(sessions[0]?.id ?? '', prompt);
          accepted.push(prompt.prompt_id);
        } catch (error) {
          expect(error).toBeInstanceOf(CoordinatorError);
        }
        await delay(5);
      }
    })();
    for (let round = 0; round < 3; round += 1) {
      await delay(150);
      await database.crashAndRestart();
    }
    await delay(300);
    const before = new Map(acked);
    await delay(300);
    running = false;
    await Promise.all([...writers, people]);
    stop();

    for (const { id } of held) {
      expect(acked.get(id)).toBeGreaterThan(before.get(id) ?? 0);
      const events = await allEvents(server, id);
      expect(events.map((each) => each.idx)).toEqual(upTo(events.length));
      const texts = events.flatMap(({ event }) =>
        event.type === 'agent_message' && 'text' in event ? [event.text] : [],
      );
      expect(texts).toEqual(upTo(acked.get(id) ?? 0).map(String));
    }
    const stored = (await allEvents(server, sessions[0]?.id ?? '')).flatMap(({ event }) =>
      event.type === 'prompt_received' && 'prompt_id' in event ? [event.prompt_id] : [],
    );
    for (const promptId of accepted) expect(stored).toContain(promptId);
    expect(new Set(stored).size).toBe(stored.length);
    expect(tails).toBeGreaterThan(0);
  });
});
