// Group commit: appends of all sessions wait here while a flush is under way and then go together
// in the next. A flush that fails because the database is away is tried again; the harness's own
// count makes that safe even when the lost connection had committed.

import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AppendOutcome } from '../coordinator.js';
import { CoordinatorError } from '../coordinator-error.js';
import type { Db } from '../database.js';
import { isTransient, toCoordinatorError } from '../database-errors.js';
import type { Incoming } from './fold-events.js';
import { type Append, type AppendResult, storeBatch } from './store-batch.js';

const MAX_EVENTS = 2_000;
const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 1_000;

export interface GroupCommit {
  append(append: Append): Promise<AppendOutcome>;
  /** Takes no more, stores what waits. */
  close(): Promise<void>;
}

interface Waiting extends Append {
  readonly resolve: (outcome: AppendOutcome) => void;
  readonly reject: (error: CoordinatorError) => void;
}

export interface GroupCommitDeps {
  readonly db: Db;
  readonly log: Logger;
  /** Called after each commit. */
  readonly onStored: () => void;
  /** How long a flush is tried again while the database is away. */
  readonly retryMs: number;
}

export function createGroupCommit({ db, log, onStored, retryMs }: GroupCommitDeps): GroupCommit {
  let waiting: Waiting[] = [];
  let closed = false;
  let flushing: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (waiting.length > 0) await flush(takeBatch());
    flushing = undefined;
  }

  function takeBatch(): readonly Waiting[] {
    let events = 0;
    let count = 0;
    for (const each of waiting) {
      if (count > 0 && events + each.incoming.length > MAX_EVENTS) break;
      events += each.incoming.length;
      count += 1;
    }
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return batch;
  }

  async function flush(batch: readonly Waiting[]): Promise<void> {
    const until = Date.now() + retryMs;
    let left = batch;
    for (let wait = RETRY_FIRST_MS; left.length > 0; wait = Math.min(wait * 2, RETRY_LAST_MS)) {
      try {
        settle(left, await storeBatch(db, left));
        onStored();
        return;
      } catch (error) {
        if (!isTransient(error)) return isolate(left, error);
        const repeatable = closed || Date.now() > until ? [] : left.filter(isRepeatable);
        for (const each of left) if (!repeatable.includes(each)) each.reject(toCoordinatorError(error));
        left = repeatable;
        if (left.length === 0) return;
        log.warn({ err: toCoordinatorError(error).message, appends: left.length }, 'a flush failed: trying again');
        await delay(wait);
      }
    }
  }

  /** What the database refuses must not take its neighbours with it, nor come again for ever. */
  async function isolate(batch: readonly Waiting[], error: unknown): Promise<void> {
    const [only, ...others] = batch;
    if (only === undefined) return;
    if (others.length > 0) {
      for (const each of batch) await flush([each]);
      return;
    }
    const [first, ...rest] = only.incoming;
    if (first === undefined || (rest.length === 0 && isReplaced(first))) {
      only.reject(toCoordinatorError(error));
      return;
    }
    if (rest.length > 0) {
      // One by one, in order; the last one's outcome is the outcome of all.
      for (const each of only.incoming.slice(0, -1))
        await flush([{ ...only, incoming: [each], resolve: () => undefined }]);
      const last = only.incoming.at(-1);
      if (last !== undefined) await flush([{ ...only, incoming: [last] }]);
      return;
    }
    log.error(
      { sessionId: only.sessionId, kind: first.event.type, err: toCoordinatorError(error).message },
      'an event cannot be stored',
    );
    await flush([{ ...only, incoming: [toReplacement(first)] }]);
  }

  return {
    append(append) {
      if (closed) return Promise.reject(new CoordinatorError('closed', 'this coordinator is closed'));
      return new Promise((resolve, reject) => {
        waiting.push({ ...append, resolve, reject });
        flushing ??= Promise.resolve().then(run);
      });
    },
    async close() {
      closed = true;
      await flushing;
    },
  };
}

function settle(batch: readonly Waiting[], results: readonly AppendResult[]): void {
  batch.forEach((each, at) => {
    const result = results[at];
    if (result === undefined) each.reject(new CoordinatorError('unavailable', 'an append got no result'));
    else if ('error' in result) each.reject(result.error);
    else each.resolve(result);
  });
}

/** Only the harness's events carry the count that makes a second try harmless. */
function isRepeatable(append: Append): boolean {
  return append.incoming.every((each) => each.from === 'harness');
}

const REPLACED = 'event_not_stored';

function isReplaced({ event }: Incoming): boolean {
  return event.type === 'notice' && 'code' in event && event.code === REPLACED;
}

/** Stands in the log where an event stood that the database will not take. */
function toReplacement(incoming: Incoming): Incoming {
  const message = `An event of kind ${incoming.event.type} could not be stored.`;
  return { ...incoming, event: { type: 'notice', level: 'error', code: REPLACED, message } };
}
