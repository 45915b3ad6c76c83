import type { Question } from '@engram/harness-proto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  carriesAnswers,
  toAnswerString,
  toDismissalReason,
  toFallbackDismissal,
  toFallbackMessage,
  toSupersededInput,
  toUpdatedInput,
} from '../src/answer-text.js';
import { joinQuestionInputs, parseQuestionInput } from '../src/question-input.js';
import { fixtureMessages, VERSIONS } from './fixture-streams.js';

const question = (text: string, multi = false, labels = ['A', 'B']): Question => ({
  question: text,
  header: 'H',
  multi_select: multi,
  options: labels.map((label) => ({ label, description: '' })),
});
const raw = (text: string, multiSelect = false) => ({
  question: text,
  header: 'H',
  multiSelect,
  options: [
    { label: 'A', description: '' },
    { label: 'B', description: '' },
  ],
});

describe('reading a question', () => {
  it.each(VERSIONS)('reads the deferred call of %s', (version) => {
    const result = fixtureMessages(version, 'defer-ask1').find((m) => m.type === 'result');
    expect(parseQuestionInput(result?.type === 'result' ? result.deferred_tool_use?.input : undefined)).toEqual({
      questions: [
        {
          question: 'Which database?',
          header: 'Database',
          multi_select: false,
          options: [
            { label: 'Postgres', description: 'relational' },
            { label: 'SQLite', description: 'embedded' },
          ],
        },
      ],
    });
  });

  it('takes the questions as a JSON string too (AUQ-12)', () => {
    expect(parseQuestionInput({ questions: JSON.stringify([raw('Q?', true)]) })).toEqual(
      parseQuestionInput({ questions: [raw('Q?', true)] }),
    );
    expect(parseQuestionInput({ questions: '[{"question":' })).toBeUndefined();
  });

  it('fills in what is missing, with any number of options (AUQ-11)', () => {
    expect(parseQuestionInput({ questions: [{ question: 'Q?' }] })).toEqual({
      questions: [{ question: 'Q?', header: '', multi_select: false, options: [] }],
    });
    const odd = { question: 'Q?', options: [{ label: 'a' }, 'b', { description: 'no label' }, 7] };
    expect(parseQuestionInput({ questions: [odd] })?.questions[0]?.options).toEqual([
      { label: 'a', description: '' },
      { label: 'b', description: '' },
    ]);
    const five = { question: 'Q?', options: ['1', '2', '3', '4', '5'] };
    expect(
      parseQuestionInput({ questions: [five, { question: 'R?', options: ['x', 'y'] }] })?.questions.map(
        (q) => q.options.length,
      ),
    ).toEqual([5, 2]);
  });

  it('keeps previews beside the questions, parallel to the options', () => {
    const withPreview = { question: 'Q?', options: [{ label: 'a', preview: '<b>x</b>' }, { label: 'b' }] };
    expect(parseQuestionInput({ questions: [withPreview, raw('R?')] })?.option_previews).toEqual([
      ['<b>x</b>', ''],
      ['', ''],
    ]);
  });

  it.each([
    [{}],
    [{ questions: [] }],
    [{ questions: [{}] }],
    [{ questions: 3 }],
    [null],
    ['x'],
    [{ questions: [raw('Q?'), 7] }],
  ])('finds no question in %j', (input) => {
    expect(parseQuestionInput(input)).toBeUndefined();
  });

  it('refuses two questions of the same text: answers are keyed by it (AUQ-10)', () => {
    expect(parseQuestionInput({ questions: [raw('Pick'), raw('Pick')] })).toBeUndefined();
  });

  it('joins the questions of one message and shows equal ones once', () => {
    const first = parseQuestionInput({ questions: [raw('Q?'), raw('R?')] });
    const second = parseQuestionInput({
      questions: [raw('R?'), { question: 'S?', options: [{ label: 'a', preview: 'p' }] }],
    });
    if (!first || !second) throw new Error('not parsed');
    const joined = joinQuestionInputs([first, second]);
    expect(joined.questions.map((q) => q.question)).toEqual(['Q?', 'R?', 'S?']);
    expect(joined.option_previews).toEqual([['', ''], ['', ''], ['p']]);
  });
});

describe('answer strings', () => {
  it('tells a label with a comma from two labels (AUQ-09)', () => {
    expect(toAnswerString(['Yes, always', 'Yes'], true)).toBe('"Yes, always", Yes');
    expect(toAnswerString(['Yes', 'always', 'Yes'], true)).toBe('Yes, always, Yes');
    expect(toAnswerString(['Yes, always'], true)).toBe('"Yes, always"');
  });

  it('gives free text to a single choice word for word', () => {
    expect(toAnswerString([' My own, "other"\ntext '], false)).toBe(' My own, "other"\ntext ');
  });

  it('is different for every different list of labels', () => {
    const label = fc
      .string({ unit: fc.constantFrom('a', 'b', ',', '"', '\\', ' ', '\n'), minLength: 1, maxLength: 4 })
      .filter((s) => s.trim() !== '');
    const list = fc.array(label, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(list, list, (one, two) => {
        const same = JSON.stringify(one) === JSON.stringify(two);
        expect(toAnswerString(one, true) === toAnswerString(two, true)).toBe(same);
      }),
      { numRuns: 2000 },
    );
  });

  it('gives the labels back to one who reads by its rule', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ minLength: 1 }).filter((s) => s.trim() !== ''),
          { minLength: 1, maxLength: 5 },
        ),
        (labels) => {
          expect(readLabels(toAnswerString(labels, true) ?? '')).toEqual(labels);
        },
      ),
    );
  });
});

/** The inverse of the joining rule. */
function readLabels(text: string): string[] {
  const labels: string[] = [];
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') {
      let label = '';
      at += 1;
      while (text[at] !== '"') {
        if (text[at] === '\\') at += 1;
        label += text[at];
        at += 1;
      }
      labels.push(label);
      at += 3;
    } else {
      const end = text.indexOf(', ', at);
      labels.push(text.slice(at, end === -1 ? text.length : end));
      at = end === -1 ? text.length : end + 2;
    }
  }
  return labels;
}

describe('the reply to the agent', () => {
  it.each([[{}], [{ 'Q?': [] }], [{ 'Q?': ['  '] }], [{ 'Q?': ['\t\n'] }], [{ 'other question': ['a'] }]])(
    'is none when %j holds no usable answer (AUQ-06)',
    (answers) => {
      expect(toUpdatedInput({ questions: [raw('Q?')] }, [question('Q?')], answers)).toBeUndefined();
      expect(toFallbackMessage([question('Q?')], answers)).toBeUndefined();
      expect(carriesAnswers('anything', [question('Q?')], answers)).toBe(false);
    },
  );

  it('keeps the call as it was and adds the answers', () => {
    const input = { questions: [{ ...raw('Q?', true), extra: 1 }], metadata: { a: 1 } };
    expect(toUpdatedInput(input, [question('Q?', true)], { 'Q?': ['A', 'B'] })).toEqual({
      ...input,
      answers: { 'Q?': 'A, B' },
    });
  });

  it('starts from this call and adds the questions asked beside it (AUQ-07)', () => {
    const card = [question('Q?'), question('S?', true, ['x', 'y'])];
    const updated = toUpdatedInput({ questions: JSON.stringify([raw('Q?')]) }, card, { 'Q?': ['A'], 'S?': ['x', 'y'] });
    expect(updated).toEqual({
      questions: [
        raw('Q?'),
        {
          question: 'S?',
          header: 'H',
          multiSelect: true,
          options: [
            { label: 'x', description: '' },
            { label: 'y', description: '' },
          ],
        },
      ],
      answers: { 'Q?': 'A', 'S?': 'x, y' },
    });
  });

  it('survives a question named like a built-in property', () => {
    const answers = Object.fromEntries([['__proto__', ['A']]]);
    const updated = toUpdatedInput({ questions: [raw('__proto__')] }, [question('__proto__')], answers);
    expect(JSON.stringify(updated?.answers)).toBe('{"__proto__":"A"}');
    expect(toUpdatedInput({ questions: [raw('toString')] }, [question('toString')], {})).toBeUndefined();
  });

  it('gives a new prompt to the first question as its free text', () => {
    const updated = toSupersededInput(
      { questions: [raw('Q?'), raw('R?')] },
      [question('Q?'), question('R?')],
      'do X, then Y',
    );
    expect(updated).toEqual({ questions: [raw('Q?'), raw('R?')], answers: { 'Q?': 'do X, then Y' } });
    expect(toSupersededInput({}, [question('Q?')], ' \n')).toBeUndefined();
    expect(toSupersededInput({}, [], 'x')).toBeUndefined();
  });

  it('names question and answer when it must go out as a message', () => {
    const text = toFallbackMessage([question('Which database?'), question('Langs?', true)], {
      'Which database?': ['SQLite'],
      'Langs?': ['C, D', 'E'],
    });
    expect(text).toContain('Question: Which database?\nAnswer: SQLite');
    expect(text).toContain('Question: Langs?\nAnswer: "C, D", E');
  });

  it('says that the user declined, and why', () => {
    expect(toDismissalReason('declined')).toBe('The user declined to answer.');
    expect(toDismissalReason('  not now ')).toBe('The user declined to answer: not now');
    expect(toDismissalReason('superseded')).toMatch(/^The user declined to answer/);
    expect(toFallbackDismissal([question('Q?')], 'declined')).toContain('Question: Q?');
  });

  it.each(VERSIONS)('recognises its answer in the result text of %s', (version) => {
    const user = fixtureMessages(version, 'resume-answer-multi-string').find((m) => m.type === 'user');
    const block = user?.type === 'user' ? user.blocks[0] : undefined;
    const text = block?.type === 'tool_result' ? block.content : '';
    const strings = [...text.matchAll(/"="([^"]*)"/g)].map((m) => m[1] ?? '');
    expect(strings.length).toBeGreaterThan(0);
    expect(carriesAnswers(text, [question('Q?')], { 'Q?': [strings[0] ?? ''] })).toBe(true);
    expect(carriesAnswers(text, [question('Q?')], { 'Q?': ['Something else'] })).toBe(false);
  });
});
