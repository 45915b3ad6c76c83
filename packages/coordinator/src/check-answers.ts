// Decides whether answers fit the questions that were asked: every question answered, nothing
// else, no blank value, exactly one value for a single choice. Text outside the labels is a
// person's own words and allowed. Pure; the same rule for every door.

import type { Answers, Question } from '@engram/harness-proto';

export type AnswersCheck =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: 'invalid_answers'; readonly message: string };

export function checkAnswers(questions: readonly Question[], answers: Answers): AnswersCheck {
  const asked = new Map<string, Question>();
  for (const question of questions) {
    // Two questions with one text share a key; the narrower of them decides.
    const known = asked.get(question.question);
    if (known === undefined || known.multi_select) asked.set(question.question, question);
  }
  const given = new Map(Object.entries(answers));
  if (given.size === 0) return invalid('no question is answered');
  for (const [text, values] of given) {
    const question = asked.get(text);
    if (question === undefined) return invalid('an answer belongs to no question of this card');
    if (values.length === 0) return invalid('a question has an empty list of answers');
    if (values.some(isBlank)) return invalid('an answer is blank');
    if (!question.multi_select && values.length !== 1) return invalid('a single choice needs exactly one answer');
  }
  for (const text of asked.keys()) {
    if (!given.has(text)) return invalid('a question is not answered');
  }
  return { ok: true };
}

/** The same answers: the same questions with the same values in the same order. */
export function sameAnswers(one: Answers, other: Answers): boolean {
  const left = new Map(Object.entries(one));
  const right = new Map(Object.entries(other));
  if (left.size !== right.size) return false;
  for (const [key, values] of left) {
    const others = right.get(key);
    if (others?.length !== values.length || values.some((value, at) => value !== others[at])) return false;
  }
  return true;
}

/** Nothing a person could see: spaces, control and format characters alone. */
function isBlank(text: string): boolean {
  return !/[^\s\p{Cc}\p{Cf}\p{Zs}]/u.test(text);
}

function invalid(message: string): AnswersCheck {
  return { ok: false, reason: 'invalid_answers', message };
}
