import { describe, expect, it } from 'vitest';
import type { KnownEvent } from '../src/api-types.js';
import type { StreamItem } from '../src/events-client.js';
import { EMPTY_LOG, logFromEnd, reduceLog, withEarlier } from '../src/session-store.js';
import { AT, logOf } from './log-of.js';

const event = (idx: number, value: KnownEvent = { type: 'harness_idle' }): StreamItem => ({
  type: 'event',
  event: { idx, at: AT, event: value },
});
const chunk = (message_id: string, text: string): StreamItem => ({
  type: 'chunk',
  chunk: { type: 'agent_message_chunk', run_id: 'r1', message_id, chunk: text },
});
const message = (message_id: string, text: string): KnownEvent => ({
  type: 'agent_message',
  run_id: 'r1',
  message_id,
  role: 'assistant',
  text,
});

describe('session store', () => {
  it('keeps each idx once and in order', () => {
    const log = reduceLog(reduceLog(EMPTY_LOG, [event(1), event(2), event(2)]), [event(1), event(2), event(3)]);
    expect(log.events.map(({ idx }) => idx)).toEqual([1, 2, 3]);
    expect(log.lastIdx).toBe(3);
  });

  it('gathers chunks by message and drops them when the message is stored', () => {
    const streaming = reduceLog(EMPTY_LOG, [chunk('m1', 'Hel'), chunk('m2', 'x'), chunk('m1', 'lo')]);
    expect(streaming.live.map(({ text }) => text)).toEqual(['Hello', 'x']);
    const stored = reduceLog(streaming, [event(1, message('m1', 'Hello'))]);
    expect(stored.live.map(({ messageId }) => messageId)).toEqual(['m2']);
  });

  it('drops what was streamed and never stored when its run ends', () => {
    const streaming = reduceLog(EMPTY_LOG, [chunk('m1', 'half a sen')]);
    expect(reduceLog(streaming, [event(1, { type: 'run_interrupted', run_id: 'r1' })]).live).toEqual([]);
  });

  it('is the same value when nothing changed', () => {
    const log = reduceLog(EMPTY_LOG, [event(1)]);
    expect(reduceLog(log, [event(1)])).toBe(log);
    expect(reduceLog(log, [])).toBe(log);
  });

  it('starts over when the server has fewer events than the page, and has the rest to read again', () => {
    const log = reduceLog(EMPTY_LOG, [event(1), event(2), event(3)]);
    const lagged = reduceLog(log, [{ type: 'lagged', lastEventIdx: 1 }]);
    expect(lagged).toEqual({ events: [], firstIdx: 2, lastIdx: 1, live: [] });
    expect(withEarlier(lagged, logOf({ type: 'harness_idle' }))).toMatchObject({ firstIdx: 1, lastIdx: 1 });
  });

  it('begins at the end of a long log and takes what is before it once', () => {
    const all = logOf(...Array.from({ length: 9 }, (): KnownEvent => ({ type: 'harness_idle' })));
    const end = reduceLog(logFromEnd(all.slice(6)), [event(9), event(10)]);
    expect(end).toMatchObject({ firstIdx: 7, lastIdx: 10 });
    const more = withEarlier(end, all.slice(2, 8));
    expect(more.events.map(({ idx }) => idx)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    expect(more.firstIdx).toBe(3);
    expect(withEarlier(more, []).firstIdx).toBe(1);
    expect(logFromEnd([])).toBe(EMPTY_LOG);
  });
});
