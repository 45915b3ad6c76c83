// Runs one reading at a time: when something moved, when a hint came, and every second anyway.
// Hints that arrive during a reading lead to one more, however many they were. It rests while
// nobody watches.

import type { Logger } from 'pino';

/** Between two readings at least this: many hints a second become few readings. */
const MIN_GAP_MS = 3;

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
  let lastTookMs = 0;
  let lastEndedAt = 0;

  function schedule(ms: number): void {
    clearTimeout(timer);
    timer = active ? setTimeout(start, ms) : undefined;
    timer?.unref();
  }

  function start(): void {
    reading ??= run();
  }

  async function run(): Promise<void> {
    const startedAt = Date.now();
    wanted = false;
    try {
      await read();
    } catch (error) {
      log.warn(
        { err: error instanceof Error ? error.message : 'unknown' },
        'a reading failed: the next one tries again',
      );
    }
    lastEndedAt = Date.now();
    lastTookMs = lastEndedAt - startedAt;
    reading = undefined;
    schedule(wanted ? gap() : pollMs);
  }

  /** A reading that takes long gets as much rest. */
  function gap(): number {
    return Math.max(MIN_GAP_MS, lastTookMs);
  }

  return {
    poke() {
      if (wanted || !active) return;
      wanted = true;
      if (reading === undefined) schedule(Math.max(0, lastEndedAt + gap() - Date.now()));
    },
    setActive(value) {
      if (active === value) return;
      active = value;
      if (active) schedule(0);
      else clearTimeout(timer);
    },
    async close() {
      active = false;
      clearTimeout(timer);
      await reading;
    },
  };
}
