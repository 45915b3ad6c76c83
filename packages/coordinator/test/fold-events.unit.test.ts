// What each harness event does to a question in each state, and to the commands that are owed.

import type { HarnessEvent } from '@engram/harness-proto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldEvents, type Incoming } from '../src/host/fold-events.js';
import type { StoredQuestion, StoredQuestionState } from '../src/questions.js';
import { question } from './scenes.js';

const facts = { id: 's', ownerId: 'ada', lastIdx: 10, harnessSeq: 5, openRun: null };
const stored = (state: StoredQuestionState): StoredQuestion => ({
  session_id: 's',
  tool_call_id: 't',
  questions: [question],
  state,
  answers: null,
  dismiss_reason: null,
});

type Input = 'user_question' | 'question_answered' | 'question_dismissed' | 'given_up' | 'answer_failed';
const inputs: Record<Input, Incoming> = {
  user_question: {
    from: 'harness',
    seq: 6,
    event: { type: 'user_question', run_id: 'r', tool_call_id: 't', questions: [question] },
  },
  question_answered: {
    from: 'harness',
    seq: 6,
    event: { type: 'question_answered', run_id: 'r', tool_call_id: 't', answers: {} },
  },
  question_dismissed: {
    from: 'harness',
    seq: 6,
    event: { type: 'question_dismissed', run_id: 'r', tool_call_id: 't', reason: 'x' },
  },
  given_up: {
    from: 'harness',
    seq: 6,
    event: { type: 'notice', level: 'error', code: 'answer_failed', message: 'm', tool_call_id: 't' },
  },
  answer_failed: { from: 'host', event: { type: 'answer_failed', tool_call_id: 't', code: 'c', message: 'm' } },
};

/** The kinds stored, then the state afterwards when it is written. */
type Expected = readonly [stored: readonly string[], state?: StoredQuestionState];
const table: Record<StoredQuestionState | 'never asked', Record<Input, Expected>> = {
  'never asked': {
    user_question: [['user_question'], 'waiting'],
    question_answered: [['question_answered'], 'answered'],
    question_dismissed: [['question_dismissed'], 'dismissed'],
    given_up: [['notice']],
    answer_failed: [['answer_failed']],
  },
  waiting: {
    user_question: [[]],
    question_answered: [['question_answered'], 'answered'],
    question_dismissed: [['question_dismissed'], 'dismissed'],
    given_up: [['notice']],
    answer_failed: [['answer_failed']],
  },
  sent: {
    user_question: [[]],
    question_answered: [['question_answered'], 'answered'],
    question_dismissed: [['answer_failed', 'question_dismissed'], 'dismissed'],
    given_up: [['answer_failed'], 'failed'],
    answer_failed: [['answer_failed'], 'failed'],
  },
  failed: {
    user_question: [[]],
    question_answered: [['question_answered'], 'answered'],
    question_dismissed: [['question_dismissed'], 'dismissed'],
    given_up: [['notice']],
    answer_failed: [['answer_failed']],
  },
  answered: {
    user_question: [[]],
    question_answered: [[]],
    question_dismissed: [[]],
    given_up: [['notice']],
    answer_failed: [[]],
  },
  dismissed: {
    user_question: [[]],
    question_answered: [['notice'], 'dismissed'],
    question_dismissed: [[], 'dismissed'],
    given_up: [['notice']],
    answer_failed: [[]],
  },
};

const states = ['never asked', 'waiting', 'sent', 'failed', 'answered', 'dismissed'] as const;
const kindsOf = ['user_question', 'question_answered', 'question_dismissed', 'given_up', 'answer_failed'] as const;

describe('a question', () => {
  for (const state of states) {
    for (const input of kindsOf) {
      it(`${state}, on ${input}`, () => {
        const known = state === 'never asked' ? [] : [stored(state)];
        const folded = foldEvents(facts, known, [inputs[input]]);
        const [kinds, after] = table[state][input];
        expect(folded.rows.map((row) => row.kind)).toEqual(kinds);
        expect(folded.questions.at(-1)?.state).toBe(after);
        expect(folded.session.lastIdx).toBe(10 + kinds.length);
        expect(folded.session.harnessSeq).toBe(input === 'answer_failed' ? 5 : 6);
      });
    }
  }
});

describe('a run', () => {
  const ends = [
    { type: 'run_interrupted', run_id: 'r' },
    { type: 'run_completed', run_id: 'r', ok: false },
    { type: 'run_completed', run_id: 'r', ok: true },
  ] as const;
  const kinds = (openRun: string | null) =>
    ends.map((event) =>
      foldEvents({ ...facts, openRun }, [], [{ from: 'harness', seq: 6, event }]).rows.map((row) => row.kind),
    );

  it('ends once in the log: one that failed with its session is not told as failed again', () => {
    expect(kinds('r')).toEqual([['run_interrupted'], ['run_completed'], ['run_completed']]);
    expect(kinds(null)).toEqual([[], [], ['run_completed']]);
  });
});

describe('commands', () => {
  const told = (event: HarnessEvent) =>
    foldEvents(facts, [], [{ from: 'harness', seq: 6, event }]).retirements.map(({ kind, ref, oldestOnly }) => [
      kind,
      ref,
      oldestOnly,
    ]);

  it('are retired by what proves their effect and by nothing else', () => {
    const all = (ref: string) => ['prompt', 'edit', 'dequeue'].map((kind) => [kind, ref, undefined]);
    expect(told({ type: 'run_started', run_id: 'r', prompt_id: 'p' })).toEqual(all('p'));
    expect(told({ type: 'prompt_dequeued', prompt_id: 'p' })).toEqual(all('p'));
    expect(told({ type: 'prompt_edited', prompt_id: 'p' })).toEqual([['edit', 'p', true]]);
    expect(told({ type: 'prompt_queued', prompt_id: 'p' })).toEqual([]);
    expect(told({ type: 'run_started', run_id: 'r' })).toEqual([]);
    for (const event of [
      { type: 'run_interrupted', run_id: 'r' },
      { type: 'run_completed', run_id: 'r', ok: true },
      { type: 'harness_idle' },
    ] as const) {
      expect(told(event)).toEqual([['interrupt', undefined, undefined]]);
    }
    const answered = told({ type: 'question_answered', run_id: 'r', tool_call_id: 't', answers: {} });
    expect(answered).toEqual([
      ['answer', 't', undefined],
      ['dismiss', 't', undefined],
    ]);
  });
});

describe('the sequence', () => {
  it('takes each number once, in order, and stops at the first that is missing', () => {
    const numbers = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 30 });
    fc.assert(
      fc.property(numbers, (seqs) => {
        const events = seqs.map(
          (seq): Incoming => ({ from: 'harness', seq, event: { type: 'run_started', run_id: `${seq}` } }),
        );
        const folded = foldEvents(facts, [], events);
        const taken = folded.rows.map((row) => Number(JSON.parse(row.data).run_id));
        expect(taken).toEqual(taken.map((_, at) => 6 + at));
        expect(folded.rows.map((row) => row.idx)).toEqual(taken.map((_, at) => 11 + at));
        expect(folded.session.harnessSeq).toBe(5 + taken.length);
        if (folded.gapAt !== undefined) expect(folded.gapAt).toBe(6 + taken.length);
      }),
    );
  });
});
