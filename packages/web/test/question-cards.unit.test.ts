import { describe, expect, it } from 'vitest';
import type { KnownEvent } from '../src/api-types.js';
import { buildQuestionCards, isOpen } from '../src/question-cards.js';
import { answered, asked, logOf, ME, submitted } from './log-of.js';

function stateOf(...events: readonly KnownEvent[]) {
  return buildQuestionCards(logOf(...events)).get('t1')?.state;
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

describe('question cards', () => {
  it('waits, is sent, is answered, and says by whom', () => {
    expect(stateOf(asked('t1'))).toEqual({ status: 'waiting' });
    expect(stateOf(asked('t1'), submitted('t1'))).toMatchObject({ status: 'sent', by: ME });
    expect(stateOf(asked('t1'), submitted('t1'), answered('t1'))).toMatchObject({
      status: 'answered',
      by: ME,
      answers: { 'Which database?': ['PostgreSQL'] },
    });
  });

  it('keeps an answered card closed when its question is told again', () => {
    const cards = buildQuestionCards(logOf(asked('t1'), answered('t1'), asked('t1')));
    expect(cards.size).toBe(1);
    expect([...cards.values()].filter(isOpen)).toEqual([]);
  });

  it('ends answered whatever the order of its events', () => {
    for (const events of permutations([asked('t1'), submitted('t1'), answered('t1'), asked('t1')])) {
      expect(stateOf(...events)?.status).toBe('answered');
    }
  });

  it('is rebuilt from the stored events alone, in any browser', () => {
    const log = logOf(asked('t1'));
    const again = JSON.parse(JSON.stringify(log));
    expect([...buildQuestionCards(again).values()].filter(isOpen)).toHaveLength(1);
  });

  it('has no open card for a call whose question is not known', () => {
    const cards = buildQuestionCards(logOf(submitted('t1')));
    expect(cards.get('t1')?.questions).toEqual([]);
    expect([...cards.values()].filter(isOpen)).toEqual([]);
  });

  it('fails with the answer kept, and is sent again by the retry', () => {
    const failed: KnownEvent = { type: 'answer_failed', tool_call_id: 't1', code: 'agent_start_failed', message: 'x' };
    expect(stateOf(asked('t1'), submitted('t1'), failed)).toMatchObject({
      status: 'failed',
      code: 'agent_start_failed',
      answers: { 'Which database?': ['PostgreSQL'] },
    });
    expect(stateOf(asked('t1'), submitted('t1'), failed, submitted('t1'))?.status).toBe('sent');
  });

  it('tells a replaced, a declined and an interrupted question apart', () => {
    for (const reason of ['superseded', 'declined', 'interrupted', 'not now']) {
      const dismissed: KnownEvent = { type: 'question_dismissed', tool_call_id: 't1', reason, by: ME };
      expect(stateOf(asked('t1'), dismissed)).toMatchObject({ status: 'dismissed', reason, by: ME });
    }
  });

  it('keeps a newer question open when an older one is answered late', () => {
    const cards = buildQuestionCards(logOf(asked('t1'), asked('t2'), answered('t1')));
    expect([...cards.values()].filter(isOpen).map((card) => card.toolCallId)).toEqual(['t2']);
  });
});
