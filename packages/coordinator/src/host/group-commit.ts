// Group commit: appends of all sessions wait here while a flush is under way and then go together
// in the next. A flush that fails because the database is away is tried again; the harness's own
// count makes that safe even when the lost connection had committed.

import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AppendOutcome } from '../coordinator.js';
import { CoordinatorError } from '../coordinator-error.js';
import type { Db } from '../database.js';
import { isTransient, toCoordinatorError } from '../database-errors.js';
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
    try {
      settle(batch, await storePatiently(batch));
      onStored();
    } catch (error) {
      if (batch.length > 1 && !isTransient(error)) {
        // One append that the database refuses must not take the others with it.
        log.error({ err: toCoordinatorError(error), appends: batch.length }, 'a flush was refused: storing one by one');
        for (const each of batch) await flush([each]);
        return;
      }
      for (const each of batch) each.reject(toCoordinatorError(error));
    }
  }

  async function storePatiently(batch: readonly Waiting[]): Promise<readonly AppendResult[]> {
    const until = Date.now() + retryMs;
    // Only the harness's events carry the count that makes a second try harmless.
    const repeatable = batch.every((each) => each.incoming.every((one) => one.from === 'harness'));
    for (let wait = RETRY_FIRST_MS; ; wait = Math.min(wait * 2, RETRY_LAST_MS)) {
      try {
        return await storeBatch(db, batch);
      } catch (error) {
        if (!isTransient(error) || !repeatable || closed || Date.now() > until) throw error;
        log.warn({ err: toCoordinatorError(error), appends: batch.length }, 'a flush failed: trying again');
        await delay(wait);
      }
    }
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
