// Which answers fit which questions.

import { describe, expect, it } from 'vitest';
import { checkAnswers, sameAnswers } from '../src/check-answers.js';

const single = {
  question: 'Which editor?',
  header: 'Editor',
  multi_select: false,
  options: [{ label: 'vi', description: '' }],
};
const multi = {
  question: 'Which languages?',
  header: 'Languages',
  multi_select: true,
  options: [{ label: 'Python', description: '' }],
};
const parse = (text: string): Record<string, string[]> => JSON.parse(text);

describe('checkAnswers', () => {
  it.each([
    ['a label', [single], { 'Which editor?': ['vi'] }],
    ['free text', [single], { 'Which editor?': ['ed, the standard'] }],
    ['several of many', [multi], { 'Which languages?': ['Python', 'Rust'] }],
    ['one of many', [multi], { 'Which languages?': ['Python'] }],
    ['all questions', [single, multi], { 'Which editor?': ['vi'], 'Which languages?': ['a'] }],
    ['a key named like a prototype', [{ ...single, question: '__proto__' }], parse('{"__proto__":["x"]}')],
  ])('takes %s', (_name, questions, answers) => {
    expect(checkAnswers(questions, answers)).toEqual({ ok: true });
  });

  it.each([
    ['nothing', [single], {}],
    ['an empty list', [single], { 'Which editor?': [] }],
    ['blanks', [single], { 'Which editor?': ['  '] }],
    ['tabs and line ends', [single], { 'Which editor?': ['\t\n'] }],
    ['what cannot be seen', [single], { 'Which editor?': ['\u200b\u2060\u00a0\ufeff'] }],
    ['two for a single choice', [single], { 'Which editor?': ['vi', 'emacs'] }],
    ['another key', [single], { other: ['a'] }],
    ['a key too many', [single], { 'Which editor?': ['vi'], other: ['a'] }],
    ['a question left out', [single, multi], { 'Which editor?': ['vi'] }],
    ['one blank among many', [multi], { 'Which languages?': ['a', ' '] }],
    ['a prototype key', [single], parse('{"__proto__":["x"]}')],
    ['an answer to no questions', [], { a: ['b'] }],
  ])('refuses %s', (_name, questions, answers) => {
    expect(checkAnswers(questions, answers)).toMatchObject({ ok: false, reason: 'invalid_answers' });
  });
});

describe('sameAnswers', () => {
  it('looks at keys and values, not at the order of keys', () => {
    expect(sameAnswers({ a: ['1'], b: ['2', '3'] }, { b: ['2', '3'], a: ['1'] })).toBe(true);
    expect(sameAnswers({ a: ['1'] }, { a: ['2'] })).toBe(false);
    expect(sameAnswers({ a: ['1'] }, { a: ['1', '1'] })).toBe(false);
    expect(sameAnswers({ a: ['1'] }, { b: ['1'] })).toBe(false);
    expect(sameAnswers({ a: ['1'] }, { a: ['1'], b: [] })).toBe(false);
  });
});
