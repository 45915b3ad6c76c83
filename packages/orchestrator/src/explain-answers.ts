// Why answers do not fit their questions, in words. The desk decides; this only finds the sentence
// for a person who has to mend it.

import type { Question } from '@engram/harness-proto';

function quote(text: string): string {
  return `"${text.length > 80 ? `${text.slice(0, 80)}…` : text}"`;
}

/** Undefined when nothing is wrong with them as far as can be seen here. */
export function explainAnswers(
  questions: readonly Question[],
  answers: readonly (readonly [string, readonly string[]])[],
): string | undefined {
  const given = new Map(answers);
  for (const { question, multi_select } of questions) {
    const values = given.get(question);
    if (values === undefined || values.length === 0) return `answers: ${quote(question)} has no answer.`;
    if (values.some((value) => value.trim() === '')) return `answers: ${quote(question)} has a blank answer.`;
    if (!multi_select && values.length !== 1) return `answers: ${quote(question)} takes exactly one answer.`;
  }
  const known = new Set(questions.map(({ question }) => question));
  const foreign = answers.find(([question]) => !known.has(question));
  return foreign && `answers: ${quote(foreign[0])} is not one of the questions.`;
}
