// Group commit: appends of all sessions wait here while a flush is under way and then go together
// in the next. Flushes keep a distance, so that a steady stream of single events costs few of them;
// when much waits, a second one runs beside the first, for other sessions, and one side prepares what
// the other stores. A flush that fails because the database is away is tried again; the harness's own
// count makes that safe even when the lost connection had committed.

import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AppendOutcome } from '../coordinator.js';
import { CoordinatorError } from '../coordinator-error.js';
import type { Db, Prepared } from '../database.js';
import { isTransient, toCoordinatorError } from '../database-errors.js';
import type { Incoming } from './fold-events.js';
import { type Append, type AppendResult, type ReadyAppend, storeBatch, toReady } from './store-batch.js';

/** Of one flush; larger ones leave the database idle while the next is prepared (bench append-throughput). */
const MAX_EVENTS = 400;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_LANES = 2;
/** So many events must wait before a second flush starts beside the first. */
const SECOND_LANE_EVENTS = 250;
/** From the start of one flush to the start of the next, unless much waits. */
const DISTANCE_MS = 5;
const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 1_000;

export interface GroupCommit {
  append(append: Append): Promise<AppendOutcome>;
  /** Takes no more, stores what waits. */
  close(): Promise<void>;
}

interface Waiting extends ReadyAppend {
  readonly resolve: (outcome: AppendOutcome) => void;
  readonly reject: (error: CoordinatorError) => void;
}

export interface GroupCommitDeps {
  readonly db: Db;
  readonly prepared: Prepared;
  readonly log: Logger;
  /** Called after each commit. */
  readonly onStored: () => void;
  /** How long a flush is tried again while the database is away. */
  readonly retryMs: number;
}

export function createGroupCommit({ db, prepared, log, onStored, retryMs }: GroupCommitDeps): GroupCommit {
  /** By session, the one that waits longest first; each in the order of its appends. */
  const waiting = new Map<string, Waiting[]>();
  let waitingEvents = 0;
  /** Sessions of the flushes under way: what they append meanwhile goes after. */
  const busy = new Set<string>();
  let closed = false;
  let lanes = 0;
  let lastStart = 0;
  let timer: NodeJS.Timeout | undefined;
  let soon = false;
  let onIdle: (() => void) | undefined;

  function start(): void {
    soon = false;
    while (lanes < MAX_LANES && waiting.size > 0 && (lanes === 0 || waitingEvents >= SECOND_LANE_EVENTS)) {
      const early = lastStart + DISTANCE_MS - performance.now();
      if (early > 0 && waitingEvents < SECOND_LANE_EVENTS && !closed) {
        timer ??= setTimeout(() => {
          timer = undefined;
          start();
        }, early);
        return;
      }
      const batch = takeBatch();
      if (batch.length === 0) break;
      void runLane(batch);
    }
    if (lanes === 0 && waiting.size === 0) onIdle?.();
  }

  async function runLane(batch: readonly Waiting[]): Promise<void> {
    lanes += 1;
    lastStart = performance.now();
    const sessions = new Set(batch.map((each) => each.sessionId));
    for (const id of sessions) busy.add(id);
    try {
      await flush(batch);
    } catch (error) {
      for (const each of batch) each.reject(toCoordinatorError(error));
    }
    for (const id of sessions) busy.delete(id);
    lanes -= 1;
    start();
  }

  /** Session by session, so that two flushes never share one. */
  function takeBatch(): readonly Waiting[] {
    const batch: Waiting[] = [];
    let events = 0;
    let bytes = 0;
    for (const [sessionId, own] of waiting) {
      if (busy.has(sessionId)) continue;
      let count = 0;
      for (const each of own) {
        const isFull = events + each.incoming.length > MAX_EVENTS || bytes + each.bytes > MAX_BYTES;
        if (batch.length + count > 0 && isFull) break;
        events += each.incoming.length;
        bytes += each.bytes;
        count += 1;
      }
      batch.push(...own.splice(0, count));
      if (own.length > 0) break;
      waiting.delete(sessionId);
    }
    waitingEvents -= events;
    return batch;
  }

  async function flush(batch: readonly Waiting[]): Promise<void> {
    const until = Date.now() + retryMs;
    let left = batch;
    for (let wait = RETRY_FIRST_MS; left.length > 0; wait = Math.min(wait * 2, RETRY_LAST_MS)) {
      try {
        settle(left, await storeBatch(db, prepared, left));
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
        await flush([{ ...only, ...toReady({ ...only, incoming: [each] }), resolve: () => undefined }]);
      const last = only.incoming.at(-1);
      if (last !== undefined) await flush([{ ...only, ...toReady({ ...only, incoming: [last] }) }]);
      return;
    }
    log.error(
      { sessionId: only.sessionId, kind: first.event.type, err: toCoordinatorError(error).message },
      'an event cannot be stored',
    );
    await flush([{ ...only, ...toReady({ ...only, incoming: [toReplacement(first)] }) }]);
  }

  return {
    append(append) {
      if (closed) return Promise.reject(new CoordinatorError('closed', 'this coordinator is closed'));
      return new Promise((resolve, reject) => {
        const each = { ...toReady(append), resolve, reject };
        const own = waiting.get(append.sessionId);
        if (own === undefined) waiting.set(append.sessionId, [each]);
        else own.push(each);
        waitingEvents += append.incoming.length;
        if (soon) return;
        soon = true;
        setImmediate(start);
      });
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      timer = undefined;
      if (lanes > 0 || waiting.size > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve;
          start();
        });
      }
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
