// Tells every process that something moved: a NOTIFY without data, outside the transaction that
// wrote (inside, it makes all commits wait for each other), one for all that was written while the
// last was under way. It is only a hint: readers go by their cursor and look every second anyway.
// Answers are told otherwise (accept-answer.ts).

import type { Logger } from 'pino';
import type { Prepared } from '../database.js';

export const EVENTS_CHANNEL = 'engram_events';
export const WORK_CHANNEL = 'engram_work';
export const CHUNKS_CHANNEL = 'engram_chunks';

export type HintChannel = typeof EVENTS_CHANNEL | typeof WORK_CHANNEL;

const HINT = `select pg_notify(channel, '') from unnest($1::text[]) as channel`;

export interface Notifier {
  hint(...channels: readonly HintChannel[]): void;
  settled(): Promise<void>;
}

export function createNotifier(prepared: Prepared, log: Logger): Notifier {
  const wanted = new Set<HintChannel>();
  let sending: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (wanted.size > 0) {
      const channels = [...wanted];
      wanted.clear();
      try {
        await prepared('hint', HINT, [channels]);
      } catch (error) {
        log.warn({ err: error instanceof Error ? error.message : 'unknown' }, 'a hint was not sent: readers poll');
      }
    }
    sending = undefined;
  }

  return {
    hint(...channels) {
      for (const channel of channels) wanted.add(channel);
      sending ??= Promise.resolve().then(run);
    },
    settled: () => sending ?? Promise.resolve(),
  };
}
