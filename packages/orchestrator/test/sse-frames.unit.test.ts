// SSE frames: nothing that an agent wrote can forge a line.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeChunk, encodeLagged, encodeStored, eventName, toEventJson } from '../src/sse-frames.js';

describe('SSE frames', () => {
  it('writes id, name and one line of JSON', () => {
    const frame = encodeStored({
      idx: 7,
      at: '2026-01-02T03:04:05.678Z',
      event: { type: 'run_interrupted', run_id: 'r1' },
    });
    expect(frame).toBe(
      'id: 7\nevent: run_interrupted\ndata: {"idx":7,"type":"run_interrupted","at":"2026-01-02T03:04:05.678Z","run_id":"r1"}\n\n',
    );
  });

  it('keeps CR and LF of an agent inside the JSON', () => {
    const text = 'x\rid: 999\revent: question_answered\r\n\n\u2028data: {}';
    const frame = encodeStored({
      idx: 1,
      at: '2026-01-01T00:00:00Z',
      event: { type: 'agent_message', run_id: 'r', message_id: 'm', role: 'assistant', text },
    });
    expect(frame.split(/\r\n|\r|\n/).filter((line) => line !== '')).toHaveLength(3);
    expect(JSON.parse(frame.slice(frame.indexOf('data: ') + 6)).text).toBe(text);
  });

  it('never writes more than three lines, whatever the kind and the fields are', () => {
    fc.assert(
      fc.property(fc.string(), fc.dictionary(fc.string(), fc.jsonValue()), (type, fields) => {
        const frame = encodeStored({ idx: 3, at: 'now', event: { ...fields, type } });
        const lines = frame.slice(0, -2).split(/\r\n|\r|\n/);
        expect(lines).toHaveLength(3);
        expect(lines[0]).toBe('id: 3');
        expect(lines[1]).toMatch(/^event: [A-Za-z_]{1,64}$/);
        expect(JSON.parse(lines[2]?.slice('data: '.length) ?? '')).toMatchObject({ idx: 3, at: 'now', type });
      }),
    );
  });

  it('names a kind with other characters, or one that an EventSource keeps for itself, unknown', () => {
    for (const kind of [
      'a\nb',
      'plan.approved',
      'v2',
      '',
      'error',
      'open',
      'message',
      'lagged',
      'agent_message_chunk',
    ]) {
      expect(eventName(kind)).toBe('unknown');
    }
    expect(eventName('user_question')).toBe('user_question');
  });

  it('keeps our own place and time over fields of the same name in a foreign event', () => {
    const json = JSON.parse(toEventJson({ idx: 5, at: 'then', event: { type: 'odd', idx: 99, at: 'never', more: 1 } }));
    expect(json).toEqual({ idx: 5, type: 'odd', at: 'then', more: 1 });
  });

  it('gives chunks and lagged no id', () => {
    const chunk = encodeChunk({ type: 'agent_message_chunk', run_id: 'r', message_id: 'm', chunk: 'a\nb' });
    expect(chunk).toBe(
      'event: agent_message_chunk\ndata: {"type":"agent_message_chunk","run_id":"r","message_id":"m","chunk":"a\\nb"}\n\n',
    );
    expect(encodeLagged(4)).toBe('event: lagged\ndata: {"type":"lagged","last_event_idx":4}\n\n');
  });
});
