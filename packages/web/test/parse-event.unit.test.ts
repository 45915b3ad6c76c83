import { describe, expect, it } from 'vitest';
import { parseLogEvent } from '../src/parse-event.js';

const base = { idx: 3, at: '2030-05-04T12:00:00Z' };

describe('parseLogEvent', () => {
  it('takes a known event', () => {
    expect(parseLogEvent({ ...base, type: 'run_started', run_id: 'r1' })).toMatchObject({
      idx: 3,
      event: { type: 'run_started', run_id: 'r1' },
    });
  });

  it('keeps a kind it does not know, and a known kind of another shape, as unrecognised', () => {
    const strange = [
      { type: 'hologram_projected', colour: 'teal' },
      { type: 'run_started' },
      { type: 'user_question', run_id: 'r', tool_call_id: 't', questions: [{ question: 'Q?' }] },
      { type: 'question_answered', run_id: 'r', tool_call_id: 't', answers: { 'Q?': 'not a list' } },
      { type: 'file_changed', run_id: 'r', tool_call_id: 't', path: 'a', change: { type: 'rename', to: 'b' } },
      { type: 'unknown', index: 99, bytes: 'AAA=' },
      { type: 'constructor' },
      { type: 7 },
    ];
    for (const event of strange) {
      expect(parseLogEvent({ ...base, ...event })?.event.type).toBe('unrecognised');
    }
  });

  it('takes no value without an idx', () => {
    for (const value of [null, 'x', [], {}, { idx: 0 }, { idx: 1.5 }, { idx: '1' }]) {
      expect(parseLogEvent(value)).toBeUndefined();
    }
  });
});
