// Event cursors as they come in from a query or a header: `since=N` and `Last-Event-ID: N` both mean
// "idx greater than N", and the larger one wins. A number too big for any log is only "above the tail".

import { Problem } from './problem.js';

const DIGITS = /^[0-9]{1,60}$/;

function invalid(name: string): Problem {
  return new Problem('invalid_cursor', {
    detail: `${name}: give the idx of an event you have, a whole number from 0.`,
  });
}

/** Undefined when it was not given. Throws `invalid_cursor`. */
export function parseCursor(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!DIGITS.test(value)) throw invalid(name);
  return Math.min(Number(value), Number.MAX_SAFE_INTEGER);
}

export function startCursor(since: string | undefined, lastEventIds: readonly string[]): number {
  if (lastEventIds.length > 1) throw invalid('Last-Event-ID (sent more than once)');
  // An empty id is how an EventSource says that it has none.
  const header = lastEventIds[0] === '' ? undefined : lastEventIds[0];
  return Math.max(parseCursor('since', since) ?? 0, parseCursor('Last-Event-ID', header) ?? 0);
}

/** For lists: their cursors are opaque. */
export function invalidPageCursor(): Problem {
  return new Problem('invalid_cursor', { detail: 'cursor: use the next_cursor of the page before, unchanged.' });
}
