// SSE frames: nothing that an agent wrote can forge a line.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeChunk, encodeDeleted, encodeEvent, encodeLagged, eventName } from '../src/sse-frames.js';

describe('SSE frames', () => {
  const json = '{"idx":7,"type":"run_interrupted","at":"2026-01-02T03:04:05.678Z","run_id": "r1"}';

  it('writes id, name and the JSON as it came', () => {
    const frame = encodeEvent({ idx: 7, kind: 'run_interrupted', json });
    expect(frame).toBe(`id: 7\nevent: run_interrupted\ndata: ${json}\n\n`);
  });

  it('never writes more than three lines, whatever the kind is', () => {
    fc.assert(
      fc.property(fc.string(), (kind) => {
        const lines = encodeEvent({ idx: 3, kind, json })
          .slice(0, -2)
          .split(/\r\n|\r|\n/);
        expect(lines).toHaveLength(3);
        expect(lines[0]).toBe('id: 3');
        expect(lines[1]).toMatch(/^event: [A-Za-z_]{1,64}$/);
        expect(lines[2]).toBe(`data: ${json}`);
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

  it('ends the stream of a session whose log went with it with an event like any other', () => {
    expect(encodeDeleted(9, 'then')).toBe(
      'id: 9\nevent: session_deleted\ndata: {"idx":9,"type":"session_deleted","at":"then"}\n\n',
    );
  });

  it('gives chunks and lagged no id', () => {
    const chunk = encodeChunk({ type: 'agent_message_chunk', run_id: 'r', message_id: 'm', chunk: 'a\nb' });
    expect(chunk).toBe(
      'event: agent_message_chunk\ndata: {"type":"agent_message_chunk","run_id":"r","message_id":"m","chunk":"a\\nb"}\n\n',
    );
    expect(encodeLagged(4)).toBe('event: lagged\ndata: {"type":"lagged","last_event_idx":4}\n\n');
  });
});
