// From what a person typed (`--choose 1,3`, `--text "…"`, or a line at the prompt) to answers as the
// API takes them: question text → list of labels or free text. Pure.

import type { Answers, Question } from '@engram/harness-proto';
import { CliError } from './cli-error.js';

/** One typed answer, in the order of the questions. */
export type Choice =
  | { readonly kind: 'choose'; readonly numbers: readonly number[] }
  | { readonly kind: 'text'; readonly text: string };

/** `--choose 1`, `--choose 1,3`: numbers of options, counted from 1. */
export function parseChoose(value: string): Choice {
  const numbers = value.split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
  if (numbers.some((number) => !(number >= 1))) {
    throw new CliError('bad_answer', `--choose takes numbers of options, such as 1 or 1,3; not "${value}".`);
  }
  return { kind: 'choose', numbers };
}

/** A line typed at the prompt: numbers of options when it is nothing else, free text otherwise. */
export function parseTyped(line: string, question: Question): Choice {
  const text = line.trim();
  if (/^\d+(\s*[, ]\s*\d+)*$/.test(text)) {
    const numbers = text.split(/[\s,]+/).map(Number);
    if (numbers.every((number) => number >= 1 && number <= question.options.length)) return { kind: 'choose', numbers };
  }
  return { kind: 'text', text };
}

export function toAnswers(questions: readonly Question[], choices: readonly Choice[]): Answers {
  if (choices.length !== questions.length) {
    const expected =
      questions.length === 1 ? 'one answer' : `${questions.length} answers, in the order of the questions`;
    throw new CliError(
      'bad_answer',
      `This takes ${expected}: one --choose or --text for each question; there ${choices.length === 1 ? 'is' : 'are'} ${choices.length}.`,
    );
  }
  const entries = questions.map((question, at): [string, readonly string[]] => {
    const choice = choices[at];
    return [question.question, choice === undefined ? [] : toLabels(question, choice)];
  });
  // fromEntries makes own properties whatever the question is called.
  return Object.fromEntries(entries);
}

function toLabels(question: Question, choice: Choice): readonly string[] {
  if (choice.kind === 'text') {
    if (choice.text.trim() === '')
      throw new CliError('bad_answer', `An answer to "${question.question}" may not be empty.`);
    return [choice.text];
  }
  const numbers = [...new Set(choice.numbers)];
  if (!question.multi_select && numbers.length !== 1) {
    throw new CliError('bad_answer', `"${question.question}" takes exactly one option.`);
  }
  return numbers.map((number) => {
    const option = question.options[number - 1];
    if (option === undefined) {
      throw new CliError(
        'bad_answer',
        `"${question.question}" has options 1 to ${question.options.length}, not ${number}.`,
      );
    }
    return option.label;
  });
}
