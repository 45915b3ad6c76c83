// Reads a log from its end towards its beginning, so that a long session shows where it stands
// before its past is there. Pages are handed over when they are worth a redraw: at least twice what
// is held already, or everything up to the first event. A page that fails is asked for again.

import type { LogEvent } from './api-types.js';
import { retryDelayMs } from './events-client.js';

/** Events of the first page: a few screens, more than what a person sees before the rest is there. */
export const END_EVENTS = 300;
/** The most a page of the API holds. */
export const EARLIER_EVENTS = 1_000;
/** Above any idx: the page that ends at the tail. */
export const FROM_THE_END = Number.MAX_SAFE_INTEGER;

export interface EarlierDeps {
  /** The newest events with idx < before, oldest first. */
  readonly page: (before: number, limit: number) => Promise<readonly LogEvent[]>;
  /** What is held now: the log may be read anew meanwhile. */
  readonly held: () => { readonly firstIdx: number; readonly count: number };
  /** Takes events that end right before what is held; an empty list says that nothing is before it. */
  readonly take: (events: readonly LogEvent[]) => void;
  readonly pause: (ms: number) => Promise<void>;
  readonly isOver: () => boolean;
}

/** Resolves when the log is whole, or nobody looks at it any more. */
export async function readEarlier({ page, held, take, pause, isOver }: EarlierDeps): Promise<void> {
  let edge = held().firstIdx;
  let batch: readonly LogEvent[] = [];
  let failures = 0;
  while (!isOver() && held().firstIdx > 1) {
    if (held().firstIdx !== edge) {
      edge = held().firstIdx;
      batch = [];
    }
    let got: readonly LogEvent[];
    try {
      got = await page(batch[0]?.idx ?? edge, EARLIER_EVENTS);
      failures = 0;
    } catch {
      failures += 1;
      await pause(retryDelayMs(failures, 0));
      continue;
    }
    if (isOver() || held().firstIdx !== edge) continue;
    batch = [...got, ...batch];
    const whole = got.length === 0 || batch[0]?.idx === 1;
    if (!whole && batch.length < 2 * held().count) continue;
    take(batch);
    if (got.length === 0 && held().firstIdx > 1) take([]);
  }
}
