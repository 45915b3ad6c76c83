// A person's answer in the words and shapes the agent gets. Pure.
//
// The CLI joins a list of labels differently from version to version and does not mark where one
// label ends; so the harness joins, and the CLI is given one string per question. A label that could
// be taken for two is put in quotes. There is no reply without a usable answer: the CLI would tell
// the model that the user did not answer.

import type { Answers, Question } from '@engram/harness-proto';
import { asRecord, asString, type JsonRecord } from './json-guards.js';
import { rawQuestions } from './question-input.js';

/** The answer to the other questions of a message that asked several at once. */
export const SIBLING_DENIAL = 'Asked together with your other question; the answer is in that result.';

/** One question's answer as one string; undefined when there is nothing usable in it. */
export function toAnswerString(values: readonly string[], multiSelect: boolean): string | undefined {
  const usable = values.filter((value) => value.trim() !== '');
  const [only] = usable;
  if (only === undefined) return undefined;
  if (usable.length === 1 && !multiSelect) return only;
  return usable.map(quoteWhenNeeded).join(', ');
}

function quoteWhenNeeded(label: string): string {
  const plain = !/[,"\n]/.test(label) && label.trim() === label;
  return plain ? label : `"${label.replace(/["\\]/g, '\\$&')}"`;
}

/**
 * What the hook replies with on an allow: the call's own input, its questions extended by those that
 * were asked beside it and stand on the same card, and the answers. Undefined without a usable one.
 */
export function toUpdatedInput(
  toolInput: unknown,
  card: readonly Question[],
  answers: Answers,
): JsonRecord | undefined {
  const strings = answerStrings(card, answers);
  if (strings.length === 0) return undefined;
  return { ...asRecord(toolInput), questions: allQuestions(toolInput, card), answers: Object.fromEntries(strings) };
}

/** The user's next words in place of an answer: the free-text answer to the card's first question. */
export function toSupersededInput(
  toolInput: unknown,
  card: readonly Question[],
  words: string,
): JsonRecord | undefined {
  const [first] = card;
  if (!first || words.trim() === '') return undefined;
  return {
    ...asRecord(toolInput),
    questions: allQuestions(toolInput, card),
    answers: Object.fromEntries([[first.question, words]]),
  };
}

function answerStrings(card: readonly Question[], answers: Answers): [string, string][] {
  return card.flatMap((question): [string, string][] => {
    const values = Object.hasOwn(answers, question.question) ? answers[question.question] : undefined;
    const text = toAnswerString(values ?? [], question.multi_select);
    return text === undefined ? [] : [[question.question, text]];
  });
}

function allQuestions(toolInput: unknown, card: readonly Question[]): readonly unknown[] {
  const own = rawQuestions(toolInput);
  const texts = new Set(own.map((raw) => asString(asRecord(raw)?.question)));
  const beside = card.filter((question) => !texts.has(question.question));
  return [
    ...own,
    ...beside.map((question) => ({
      question: question.question,
      header: question.header,
      multiSelect: question.multi_select,
      options: question.options.map(({ label, description }) => ({ label, description })),
    })),
  ];
}

/** True when a tool result's text holds every answer: the stream then shows that the agent got them. */
export function carriesAnswers(resultText: string, card: readonly Question[], answers: Answers): boolean {
  const strings = answerStrings(card, answers);
  return strings.length > 0 && strings.every(([, text]) => resultText.includes(text));
}

/** The answer as a message of the user's, when the call can no longer take it. */
export function toFallbackMessage(card: readonly Question[], answers: Answers): string | undefined {
  const strings = answerStrings(card, answers);
  if (strings.length === 0) return undefined;
  const lines = strings.map(([question, text]) => `Question: ${question}\nAnswer: ${text}`);
  return `This answers what you asked before. Go on with it; do not ask again.\n\n${lines.join('\n\n')}`;
}

/** A dismissal as a message of the user's, when the call can no longer take it. */
export function toFallbackDismissal(card: readonly Question[], reason: string): string {
  const questions = card.map((question) => `Question: ${question.question}`).join('\n');
  return `${toDismissalReason(reason)}\n\n${questions}`;
}

/** What a denied question tells the agent. `reason` is a code of `question_dismissed` or a person's words. */
export function toDismissalReason(reason: string): string {
  const words = reason.trim();
  switch (words) {
    case '':
    case 'declined':
      return 'The user declined to answer.';
    case 'interrupted':
      return 'The user declined to answer: the question was interrupted.';
    case 'superseded':
      return 'The user declined to answer and sent a new message instead.';
    case 'withdrawn':
      return 'The user declined to answer: the question was withdrawn.';
    default:
      return `The user declined to answer: ${words}`;
  }
}
