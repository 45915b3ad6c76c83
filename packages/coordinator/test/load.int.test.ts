// 200 sessions of five events a second on two hosts, people writing to the same sessions, and readers
// that come at any time with any cursor: by pages, and live. ENGRAM_TEST_LOAD_SECONDS makes it longer,
// ENGRAM_TEST_SEED plays one again.

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Coordinator } from '../src/index.js';
import { ada, allEvents, makeSession } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

const SECONDS = Number(process.env.ENGRAM_TEST_LOAD_SECONDS ?? 3);
const SEED = Number(process.env.ENGRAM_TEST_SEED ?? Date.now() % 1_000_000);
const SESSIONS = 200;
const PER_SECOND = 5;

let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database.stop());

/** mulberry32: the same numbers from the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const message = (text: string) =>
  ({ type: 'agent_message', run_id: 'r', message_id: 'm', role: 'assistant', text }) as const;
const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1);

interface Reader {
  readonly id: string;
  readonly since: number;
  readonly seen: readonly number[];
  /** Reads to the tail as it is now. */
  finish(): Promise<void>;
}

/** Pages of a random size, with random pauses. */
function readPages(coordinator: Coordinator, id: string, since: number, random: () => number): Reader {
  const seen: number[] = [];
  let last = false;
  const reading = (async () => {
    for (;;) {
      const final = last;
      const page = await coordinator.readEvents(id, seen.at(-1) ?? since, 1 + Math.floor(random() * 20));
      seen.push(...page.events.map(({ idx }) => idx));
      if (final && (seen.at(-1) ?? since) >= page.tail) return;
      if (page.events.length === 0) await delay(100 * random());
    }
  })();
  return {
    id,
    since,
    seen,
    async finish() {
      last = true;
      await reading;
    },
  };
}

/** What came live, and pages only for what did not come along. */
function watchLive(coordinator: Coordinator, id: string, since: number): Reader {
  const seen: number[] = [];
  const wanted = () => (seen.at(-1) ?? since) + 1;
  let told: number | undefined;
  let work = Promise.resolve();
  const stop = coordinator.watchSession(id, {
    onEvents(tail, fresh) {
      // Fresh events follow on behind the tail that was told before, without a hole.
      const from = told;
      if (from !== undefined) expect(fresh.map(({ idx }) => idx)).toEqual(upTo(fresh.length).map((n) => from + n));
      told = tail;
      work = work.then(async () => {
        for (const { idx } of fresh) if (idx === wanted()) seen.push(idx);
        while (wanted() <= tail) {
          const { events } = await coordinator.readEventTexts(id, { since: wanted() - 1 }, 50);
          seen.push(...events.map(({ idx }) => idx));
        }
      });
    },
    onChunk: () => undefined,
    onDeleted: () => expect.unreachable(),
  });
  return {
    id,
    since,
    seen,
    async finish() {
      const { tail } = await coordinator.readEvents(id, 0, 1);
      for (let waited = 0; waited < 5_000 && (told ?? 0) < tail; waited += 20) await delay(20);
      stop();
      await work;
    },
  };
}

it(
  'leaves no hole and no double in 200 busy sessions, for readers that come at any time with any cursor',
  async () => {
    console.log(`ENGRAM_TEST_SEED=${SEED}`);
    const random = createRandom(SEED);
    const connection = await database.makeDatabase();
    const make = () => database.createCoordinator({ connection });
    const [one, two, server, replica] = [await make(), await make(), await make(), await make()];
    for (let made = 0; made < SESSIONS; made += 20) {
      await Promise.all(upTo(20).map(() => makeSession(server, { prompt: 'x' })));
    }
    const held = [
      ...(await one.claimSessions('h1', SESSIONS / 2)).map((claim) => ({ ...claim, host: one })),
      ...(await two.claimSessions('h2', SESSIONS / 2)).map((claim) => ({ ...claim, host: two })),
    ];
    expect(held).toHaveLength(SESSIONS);

    const total = SECONDS * PER_SECOND;
    const started = Date.now();
    const readers: Reader[] = [];
    const sessions = held.map(async ({ session: { id }, epoch, host }, at) => {
      // Half of the readers are there before the first event, the others come at any time.
      const comes = upTo(2).map(() => (random() < 0.5 ? 0 : Math.floor(random() * total)));
      for (let seq = 1; seq <= total; seq += 1) {
        await delay(Math.max(0, started + ((seq - 1 + random() / 2) * 1000) / PER_SECOND - Date.now()));
        for (const [kind, when] of comes.entries()) {
          if (when !== seq - 1) continue;
          const since = Math.floor(random() * 3);
          if (kind === 0) readers.push(watchLive(at % 2 === 0 ? server : replica, id, since));
          else if (at % 5 === 0) readers.push(readPages(replica, id, since, random));
        }
        // Now and then the host tells again what it told before, as after a lost link.
        const from = random() < 0.1 ? Math.max(1, seq - 3) : seq;
        const again = upTo(seq - from + 1).map((n) => ({ seq: from + n - 1, event: message(`${from + n - 1}`) }));
        const [stored] = await Promise.all([
          host.appendEvents(id, epoch, again),
          seq % PER_SECOND === 0
            ? server.acceptPrompt(id, { text: 'y', prompt_id: `p${seq}`, by: ada })
            : Promise.resolve(),
        ]);
        expect(stored).toEqual({ ok: true, storedSeq: seq });
      }
    });
    await Promise.all(sessions);
    await Promise.all(readers.map((reader) => reader.finish()));

    const tail = 3 + total + SECONDS;
    expect(readers.length).toBeGreaterThan(SESSIONS);
    for (const { since, seen } of readers) expect(seen).toEqual(upTo(tail).slice(since));
    for (const { session } of held.filter((_, at) => at % 10 === 0)) {
      const events = await allEvents(replica, session.id);
      const texts = events.flatMap(({ event }) =>
        event.type === 'agent_message' && 'text' in event ? [event.text] : [],
      );
      expect(texts).toEqual(upTo(total).map(String));
    }
  },
  60_000 + SECONDS * 2_000,
);
