// Which appends may take the short way.

import { describe, expect, it } from 'vitest';
import { isPlain, toGroup } from '../src/host/store-plain.js';

const message = { type: 'agent_message', run_id: 'r', message_id: 'm', role: 'assistant', text: '' } as const;
const append = (epoch: number, ...seqs: number[]) => ({
  sessionId: 's',
  epoch,
  incoming: seqs.map((seq) => ({ from: 'harness', seq, event: message }) as const),
});

describe('the short way', () => {
  it('is for the harness and for kinds that change nothing but the log', () => {
    expect(isPlain(append(1, 1, 2, 3))).toBe(true);
    expect(isPlain(append(1))).toBe(false);
    expect(isPlain(append(1, 1, 3))).toBe(false);
    expect(isPlain({ ...append(1), incoming: [{ from: 'host', event: message }] })).toBe(false);
    expect(isPlain({ ...append(1), incoming: [{ from: 'harness', seq: 1, event: { type: 'harness_idle' } }] })).toBe(
      false,
    );
  });

  it('joins appends that follow on or overlap, and no others', () => {
    expect(toGroup([append(1, 4, 5), append(1, 6), append(1, 5, 6, 7)])).toEqual({
      sessionId: 's',
      epoch: 1,
      first: 4,
      last: 7,
    });
    expect(toGroup([append(1, 4), append(1, 6)])).toBeUndefined();
    expect(toGroup([append(1, 4), append(1, 3)])).toBeUndefined();
    expect(toGroup([append(1, 4), append(2, 5)])).toBeUndefined();
    expect(toGroup([])).toBeUndefined();
  });
});
