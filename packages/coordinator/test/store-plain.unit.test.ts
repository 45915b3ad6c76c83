// Which appends may take the short way.

import { describe, expect, it } from 'vitest';
import { toGroup, toPlainTexts } from '../src/host/store-plain.js';

const message = { type: 'agent_message', run_id: 'r', message_id: 'm', role: 'assistant', text: 'é' } as const;
const incoming = (...seqs: number[]) => seqs.map((seq) => ({ from: 'harness', seq, event: message }) as const);
const append = (epoch: number, ...seqs: number[]) => ({
  sessionId: 's',
  epoch,
  texts: toPlainTexts(incoming(...seqs)),
});

describe('the short way', () => {
  it('is for the harness and for kinds that change nothing but the log', () => {
    const data = '{"run_id":"r","message_id":"m","role":"assistant","text":"é"}';
    expect(toPlainTexts(incoming(7, 8))).toEqual([
      { seq: 7, kind: 'agent_message', data, bytes: data.length + 1 },
      { seq: 8, kind: 'agent_message', data, bytes: data.length + 1 },
    ]);
    expect(toPlainTexts([])).toBeUndefined();
    expect(toPlainTexts(incoming(1, 3))).toBeUndefined();
    expect(toPlainTexts([{ from: 'host', event: message }])).toBeUndefined();
    expect(toPlainTexts([{ from: 'harness', seq: 1, event: { type: 'harness_idle' } }])).toBeUndefined();
  });

  it('joins appends that follow on or overlap, and no others', () => {
    const group = toGroup([append(1, 4, 5), append(1, 6), append(1, 5, 6, 7), append(1, 4)]);
    expect(group).toMatchObject({ sessionId: 's', epoch: 1 });
    expect(group?.texts.map(({ seq }) => seq)).toEqual([4, 5, 6, 7]);
    expect(toGroup([append(1, 4), append(1, 6)])).toBeUndefined();
    expect(toGroup([append(1, 4), append(1, 3)])).toBeUndefined();
    expect(toGroup([append(1, 4), append(2, 5)])).toBeUndefined();
    expect(toGroup([append(1, 4), { ...append(1), texts: undefined }])).toBeUndefined();
    expect(toGroup([])).toBeUndefined();
  });
});
