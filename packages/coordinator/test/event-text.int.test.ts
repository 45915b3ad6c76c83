// The log as text is the log as values, whatever an agent or a newer release put into it.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Coordinator, StoredEvent } from '../src/index.js';
import { allEvents, claimOne, type Held, makeSession } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;
let coordinator: Coordinator;
beforeAll(async () => {
  database = await startTestDatabase();
  coordinator = await database.createCoordinator();
});
afterAll(() => database.stop());

async function hold(): Promise<Held> {
  return claimOne(coordinator, (await makeSession(coordinator, { prompt: 'x' })).id);
}

/** Any 16-bit units: NUL, lone surrogates, line separators. */
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) });

function toJson({ idx, at, event }: StoredEvent): unknown {
  return { ...event, idx, at, type: event.type };
}

describe('the log as text', () => {
  it('says the same as the log as values, on one line, for kinds and fields of a newer release', async () => {
    const fields = fc.dictionary(fc.oneof(anyText, fc.constantFrom('idx', 'at', 'type', 'bytes')), fc.jsonValue());
    const events = fc.sample(fc.tuple(fc.string({ minLength: 1 }), fields), 150).map(([kind, more]) => ({
      ...more,
      type: `x_${kind.replaceAll('\0', '')}`,
    }));
    const held = await hold();
    const told = [...events, { type: 'unknown', index: 99, bytes: Uint8Array.from([0, 255, 10]) }];
    const outcome = await Reflect.apply(coordinator.appendEvents, coordinator, [
      held.id,
      held.epoch,
      told.map((event, at) => ({ seq: at + 1, event })),
    ]);
    expect(outcome).toEqual({ ok: true, storedSeq: told.length });

    const stored = await allEvents(coordinator, held.id);
    expect(stored.some(({ event }) => 'code' in event && event.code === 'event_not_stored')).toBe(false);
    const page = await coordinator.readEventTexts(held.id, { since: 0 }, 1_000);
    expect(page.tail).toBe(stored.length);
    expect(page.events.map(({ idx }) => idx)).toEqual(stored.map(({ idx }) => idx));
    for (const [at, { json, kind }] of page.events.entries()) {
      const same = stored[at];
      if (same === undefined) throw new Error('as many texts as values');
      expect(json).not.toMatch(/[\r\n]/);
      expect(JSON.parse(json)).toEqual(toJson(same));
      expect(kind).toBe(same.event.type);
    }
    expect(JSON.parse(page.events.at(-1)?.json ?? '')).toMatchObject({ type: 'unknown', index: 99, bytes: 'AP8K' });
    // From the end, the same texts.
    const end = await coordinator.readEventTexts(held.id, { before: stored.length + 1 }, 10);
    expect(end.events).toEqual(page.events.slice(-10));
  });

  it('of messages holds any text, cleaned of what jsonb refuses, and many in one flush hold up none', async () => {
    const texts = fc.sample(anyText, 300);
    const held = [await hold(), await hold(), await hold()];
    await Promise.all(
      held.flatMap(({ id, epoch }) =>
        texts.map((text, at) =>
          coordinator.appendEvents(id, epoch, [
            { seq: at + 1, event: { type: 'agent_message', run_id: 'r', message_id: 'm', role: 'assistant', text } },
          ]),
        ),
      ),
    );
    for (const { id } of held) {
      const page = await coordinator.readEventTexts(id, { since: 3 }, 1_000);
      const back = page.events.map(({ json }) => JSON.parse(json).text);
      expect(back).toEqual(texts.map((text) => text.replace(/\0/g, '\ufffd').replace(/\p{Surrogate}/gu, '\ufffd')));
    }
  });

  it('of a session that never was is empty', async () => {
    for (const id of ['nonsense', '00000000-0000-4000-8000-000000000000']) {
      expect(await coordinator.readEventTexts(id, { since: 0 }, 10)).toEqual({ events: [], tail: 0 });
    }
  });
});
