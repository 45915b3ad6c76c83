import { describe, expect, it } from 'vitest';
import type { KnownEvent } from '../src/api-types.js';
import { EARLIER_EVENTS, readEarlier } from '../src/read-earlier.js';
import { logFromEnd, reduceLog, type SessionLog, withEarlier } from '../src/session-store.js';
import { logOf } from './log-of.js';

const logOfLength = (length: number) => logOf(...Array.from({ length }, (): KnownEvent => ({ type: 'harness_idle' })));

/** A server that holds `length` events, and a page that holds the last 300 of them. */
function stage(length: number) {
  const all = logOfLength(length);
  let log = logFromEnd(all.slice(-300));
  const facts = { reads: 0, redraws: 0, pauses: 0, over: false, failing: 0 };
  return {
    facts,
    log: () => log,
    use: (next: SessionLog) => {
      log = next;
    },
    run: () =>
      readEarlier({
        page: async (before, limit) => {
          facts.reads += 1;
          if (facts.failing > 0) {
            facts.failing -= 1;
            throw new Error('away');
          }
          return all.filter(({ idx }) => idx < before).slice(-limit);
        },
        held: () => ({ firstIdx: log.firstIdx, count: log.events.length }),
        take: (events) => {
          facts.redraws += 1;
          log = withEarlier(log, events);
        },
        pause: async () => {
          facts.pauses += 1;
        },
        isOver: () => facts.over,
      }),
  };
}

describe('reading a log from its end', () => {
  it('reads every page once and redraws a few times, however long the log is', async () => {
    const one = stage(20_000);
    await one.run();
    expect(one.log().events.map(({ idx }) => idx)).toEqual(Array.from({ length: 20_000 }, (_, at) => at + 1));
    expect(one.facts.reads).toBe(Math.ceil(19_700 / EARLIER_EVENTS));
    expect(one.facts.redraws).toBeLessThan(6);
  });

  it('asks again for a page that failed', async () => {
    const one = stage(3_000);
    one.facts.failing = 3;
    await one.run();
    expect(one.facts.pauses).toBe(3);
    expect(one.log()).toMatchObject({ firstIdx: 1, lastIdx: 3_000 });
  });

  it('stops when nobody looks any more', async () => {
    const one = stage(3_000);
    one.facts.over = true;
    await one.run();
    expect(one.facts.reads).toBe(0);
  });

  it('begins anew when the log it reads for was voided meanwhile', async () => {
    const one = stage(500);
    const running = one.run();
    one.use(reduceLog(one.log(), [{ type: 'lagged', lastEventIdx: 100 }]));
    await running;
    expect(one.log().events.map(({ idx }) => idx)).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
  });
});
