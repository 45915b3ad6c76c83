// The judge of `npm run crash`: it must see each kind of loss.

import { describe, expect, it } from 'vitest';
import { createLedger, type LoggedEvent } from '../soak/crash-ledger.mjs';

const log: readonly LoggedEvent[] = [
  { idx: 1, type: 'session_created' },
  { idx: 2, type: 'prompt_received', prompt_id: 'p1' },
  { idx: 3, type: 'run_started', prompt_id: 'p1' },
  { idx: 4, type: 'answer_submitted', tool_call_id: 't1' },
  { idx: 5, type: 'question_answered', tool_call_id: 't1' },
];

function ledgerOf(): ReturnType<typeof createLedger> {
  const ledger = createLedger();
  ledger.created('s');
  ledger.prompted('s', 'p1', true);
  ledger.prompted('s', 'p2', false);
  ledger.answered('s', 't1');
  for (const event of log.slice(0, 3)) expect(ledger.saw('s', event)).toBeUndefined();
  return ledger;
}

const classes = (events: readonly LoggedEvent[], over = false): readonly string[] =>
  ledgerOf()
    .check('s', events, { over })
    .map((finding) => finding.class);
const without = (type: string): readonly LoggedEvent[] =>
  log.filter((event) => event.type !== type).map((event, at) => ({ ...event, idx: at + 1 }));

describe('the ledger of acknowledged things', () => {
  it('is content with a whole log', () => {
    expect(classes(log, true)).toEqual([]);
    expect(ledgerOf().counts()).toEqual({
      sessions: 1,
      prompts: 1,
      prompts_without_reply: 1,
      answers: 1,
      events_seen: 3,
    });
  });

  it('sees what is lost: a prompt, an answer, an event that was shown', () => {
    expect(classes(without('prompt_received'))).toContain('lost');
    expect(classes(without('answer_submitted'))).toContain('lost');
    expect(classes(log.slice(0, 2))).toEqual(['lost', 'lost']);
  });

  it('sees gaps, changed events and doubled prompts, those that got no reply included', () => {
    expect(classes(log.filter(({ idx }) => idx !== 3))).toContain('gap');
    expect(classes(log.map((event) => (event.idx === 3 ? { ...event, run_id: 'other' } : event)))).toEqual(['changed']);
    const twice = { type: 'prompt_received', prompt_id: 'p2' };
    expect(classes([...log, { idx: 6, ...twice }])).toEqual([]);
    expect(classes([...log, { idx: 6, ...twice }, { idx: 7, ...twice }])).toEqual(['double']);
    const ledger = ledgerOf();
    expect(ledger.saw('s', { idx: 3, type: 'run_started', prompt_id: 'other' })).toMatchObject({ class: 'changed' });
  });

  it('at the end sees what never reached the agent', () => {
    expect(classes(log.slice(0, 4), true)).toEqual(['stuck']);
    const failed = { idx: 5, type: 'answer_failed', tool_call_id: 't1' };
    expect(classes([...log.slice(0, 4), failed], true)).toEqual([]);
    expect(classes([...log, { idx: 6, type: 'question_answered', tool_call_id: 't1' }], true)).toEqual(['double']);
    expect(classes([...log.slice(0, 2), { idx: 3, type: 'notice' }, ...log.slice(3)], true)).toContain('stuck');
  });
});
