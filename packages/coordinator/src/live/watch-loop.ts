// Runs one reading at a time: when something moved, when a hint came, and every second anyway.
// Hints that arrive during a reading lead to one more, however many they were. It rests while
// nobody watches, after each reading as long as that took, and the longer the more its news set off:
// a busy process reads more at a time instead of more often.

import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Between two readings at least this: many hints a second become few readings. */
const MIN_GAP_MS = 2;

export interface WatchLoop {
  poke(): void;
  setActive(active: boolean): void;
  close(): Promise<void>;
}

export function createWatchLoop(read: () => Promise<void>, pollMs: number, log: Logger): WatchLoop {
  let timer: NodeJS.Timeout | undefined;
  let active = false;
  let wanted = false;
  let reading: Promise<void> | undefined;
  let readMs = 0;
  let lastTookMs = 0;
  let lastEndedAt = 0;

  function schedule(ms: number): void {
    clearTimeout(timer);
    timer = undefined;
    if (!active) return;
    if (ms <= 0) {
      start();
      return;
    }
    timer = setTimeout(start, ms);
    timer.unref();
  }

  function start(): void {
    reading ??= run();
  }

  async function run(): Promise<void> {
    const startedAt = performance.now();
    wanted = false;
    try {
      await read();
      readMs = performance.now() - startedAt;
      // What was told is written to sockets by the end of this turn.
      await turn();
    } catch (error) {
      log.warn(
        { err: error instanceof Error ? error.message : 'unknown' },
        'a reading failed: the next one tries again',
      );
    }
    lastEndedAt = performance.now();
    lastTookMs = lastEndedAt - startedAt;
    reading = undefined;
    schedule(wanted ? gap() : pollMs);
  }

  function gap(): number {
    return Math.max(MIN_GAP_MS, readMs, lastTookMs / 3);
  }

  return {
    poke() {
      if (wanted || !active) return;
      wanted = true;
      if (reading === undefined) schedule(lastEndedAt + gap() - performance.now());
    },
    setActive(value) {
      if (active === value) return;
      active = value;
      if (active) schedule(1);
      else clearTimeout(timer);
    },
    async close() {
      active = false;
      clearTimeout(timer);
      await reading;
    },
  };
}
