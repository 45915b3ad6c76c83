import { describe, expect, it } from 'vitest';
import { parseChoose, parseTyped, toAnswers } from '../src/answer-choices.js';

const editor = {
  question: 'Which editor?',
  header: 'Editor',
  multi_select: false,
  options: [
    { label: 'VS Code', description: '' },
    { label: 'Vim', description: '' },
  ],
};
const languages = { ...editor, question: 'Which languages?', multi_select: true };

describe('answers typed by a person', () => {
  it('takes options by number, in the order of the questions', () => {
    expect(toAnswers([editor, languages], [parseChoose('2'), parseChoose('1,2')])).toEqual({
      'Which editor?': ['Vim'],
      'Which languages?': ['VS Code', 'Vim'],
    });
  });

  it('takes free text as it is', () => {
    expect(toAnswers([editor], [{ kind: 'text', text: 'neither, use ed' }])).toEqual({
      'Which editor?': ['neither, use ed'],
    });
  });

  it('refuses a number that is no option, two for a single choice, and an empty text', () => {
    expect(() => toAnswers([editor], [parseChoose('3')])).toThrow('options 1 to 2');
    expect(() => toAnswers([editor], [parseChoose('1,2')])).toThrow('exactly one');
    expect(() => toAnswers([editor], [{ kind: 'text', text: '  ' }])).toThrow('empty');
    expect(() => parseChoose('one')).toThrow('--choose');
    expect(() => parseChoose('0')).toThrow('--choose');
  });

  it('says how many answers are expected', () => {
    expect(() => toAnswers([editor, languages], [parseChoose('1')])).toThrow('2 answers');
  });

  it('reads a typed line as numbers only when every one is an option', () => {
    expect(parseTyped(' 1, 2 ', languages)).toEqual({ kind: 'choose', numbers: [1, 2] });
    expect(parseTyped('42', languages)).toEqual({ kind: 'text', text: '42' });
    expect(parseTyped('both of them', languages)).toEqual({ kind: 'text', text: 'both of them' });
  });

  it('keeps a question called __proto__ as a key of its own', () => {
    const odd = { ...editor, question: '__proto__' };
    expect(Object.keys(toAnswers([odd], [parseChoose('1')]))).toEqual(['__proto__']);
  });
});
