import { describe, expect, it } from 'vitest';
import type { KnownEvent } from '../src/api-types.js';
import type { StreamItem } from '../src/events-client.js';
import { EMPTY_LOG, reduceLog } from '../src/session-store.js';
import { AT } from './log-of.js';

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

  it('starts over when the server has fewer events than the page', () => {
    const log = reduceLog(EMPTY_LOG, [event(1), event(2), event(3)]);
    expect(reduceLog(log, [{ type: 'lagged', lastEventIdx: 1 }])).toEqual({ events: [], lastIdx: 1, live: [] });
  });
});
