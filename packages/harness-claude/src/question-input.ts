// The question tool's input → what a card shows. Tolerant of what other versions and agents send: a
// list or a JSON string, options as bare strings, missing header, description or multiSelect. What
// the CLI itself refuses never gets here as a card: a card is made from the deferred call only.

import type { Question, QuestionOption } from '@engram/harness-proto';
import { asArray, asNonEmptyString, asRecord, asString, isRecord, type JsonRecord, parseJson } from './json-guards.js';

export const QUESTION_TOOL = 'AskUserQuestion';

export interface QuestionInput {
  readonly questions: readonly Question[];
  /** Parallel to questions and their options; absent when no option has a preview. */
  readonly option_previews?: readonly (readonly string[])[];
}

/** Undefined when there is no question in it, or two of the same text: answers are keyed by text. */
export function parseQuestionInput(input: unknown): QuestionInput | undefined {
  const parsed = rawQuestions(input).map(parseQuestion);
  const found = parsed.filter((item) => item !== undefined);
  if (found.length === 0 || found.length !== parsed.length) return undefined;
  if (new Set(found.map((item) => item.question.question)).size !== found.length) return undefined;
  return toQuestionInput(found);
}

/** Several calls of one message as one card: their questions in order, equal texts only once. */
export function joinQuestionInputs(inputs: readonly QuestionInput[]): QuestionInput {
  const seen = new Set<string>();
  const items = inputs.flatMap((input) =>
    input.questions.map((question, i) => ({ question, previews: input.option_previews?.[i] ?? [] })),
  );
  return toQuestionInput(items.filter(({ question }) => !seen.has(question.question) && seen.add(question.question)));
}

/** Same text, but not the same choice: one answer, which is found by its text, could not serve both. */
export function clashes(one: QuestionInput, other: QuestionInput): boolean {
  return one.questions.some((question) =>
    other.questions.some((beside) => beside.question === question.question && toChoice(beside) !== toChoice(question)),
  );
}

function toChoice({ multi_select, options }: Question): string {
  return JSON.stringify([multi_select, options.map((option) => option.label)]);
}

/** The questions as the call itself holds them, for a reply that must give them back. */
export function rawQuestions(input: unknown): readonly unknown[] {
  const value = asRecord(input)?.questions;
  const list = typeof value === 'string' ? parseJson(value) : value;
  return asArray(list) ?? [];
}

interface ParsedQuestion {
  readonly question: Question;
  readonly previews: readonly string[];
}

function toQuestionInput(items: readonly ParsedQuestion[]): QuestionInput {
  const questions = items.map((item) => item.question);
  if (items.every((item) => item.previews.every((preview) => preview === ''))) return { questions };
  const previews = items.map(({ question, previews }) => question.options.map((_, i) => previews[i] ?? ''));
  return { questions, option_previews: previews };
}

function parseQuestion(raw: unknown): ParsedQuestion | undefined {
  const record = asRecord(raw);
  const text = asNonEmptyString(record?.question);
  if (!record || text === undefined) return undefined;
  const options = (asArray(record.options) ?? []).map(parseOption).filter((option) => option !== undefined);
  return {
    question: {
      question: text,
      header: asString(record.header) ?? '',
      multi_select: record.multiSelect === true || record.multi_select === true,
      options: options.map((option) => option.option),
    },
    previews: options.map((option) => option.preview),
  };
}

function parseOption(raw: unknown): { readonly option: QuestionOption; readonly preview: string } | undefined {
  const record: JsonRecord = typeof raw === 'string' ? { label: raw } : isRecord(raw) ? raw : {};
  const label = asNonEmptyString(record.label);
  if (label === undefined) return undefined;
  return {
    option: { label, description: asString(record.description) ?? '' },
    preview: asString(record.preview) ?? '',
  };
}
