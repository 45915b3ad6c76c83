// What a person has chosen and typed so far for one question card, and when that is an answer.
// Pure, but for the two functions that keep drafts in the browser so that they survive a reload.

import { isJsonObject } from './parse-event.js';
import type { Answers, Question } from './wire-types.js';

export interface DraftPart {
  readonly chosen: readonly string[];
  readonly otherOn: boolean;
  readonly other: string;
}

/** One part per question of the card, in order. */
export type Draft = readonly DraftPart[];

const EMPTY_PART: DraftPart = { chosen: [], otherOn: false, other: '' };

export function emptyDraft(questions: readonly Question[]): Draft {
  // Where there is nothing to choose from, the field for own words is open from the start.
  return questions.map(({ options }) => (options.length === 0 ? { ...EMPTY_PART, otherOn: true } : EMPTY_PART));
}

export function chooseOption(part: DraftPart, question: Question, label: string): DraftPart {
  if (!question.multi_select) return { ...part, chosen: [label], otherOn: false };
  const chosen = part.chosen.includes(label)
    ? part.chosen.filter((known) => known !== label)
    : question.options.map((o) => o.label).filter((known) => known === label || part.chosen.includes(known));
  return { ...part, chosen };
}

export function toggleOther(part: DraftPart, question: Question, on: boolean): DraftPart {
  return question.multi_select ? { ...part, otherOn: on } : { ...part, otherOn: on, chosen: on ? [] : part.chosen };
}

/** The values this part answers with; empty when it is not an answer yet. Free text goes word for word. */
export function valuesOf(part: DraftPart): readonly string[] {
  const own = part.otherOn && part.other.trim() !== '' ? [part.other] : [];
  return [...part.chosen, ...own];
}

export function isAnswered(part: DraftPart, question: Question): boolean {
  const values = valuesOf(part);
  if (part.otherOn && part.other.trim() === '') return false;
  return question.multi_select ? values.length > 0 : values.length === 1;
}

export function isTouched(draft: Draft): boolean {
  return draft.some((part) => part.chosen.length > 0 || part.other.trim() !== '');
}

/** Undefined while some question has no answer. */
export function toAnswers(draft: Draft, questions: readonly Question[]): Answers | undefined {
  const entries: [string, readonly string[]][] = [];
  for (const [at, question] of questions.entries()) {
    const part = draft[at];
    if (part === undefined || !isAnswered(part, question)) return undefined;
    entries.push([question.question, valuesOf(part)]);
  }
  return Object.fromEntries(entries);
}

/** The draft that would give these answers: for sending them again. */
export function draftOfAnswers(answers: Answers, questions: readonly Question[]): Draft {
  return questions.map(({ question, options }) => {
    const values = answers[question] ?? [];
    const labels = options.map((o) => o.label);
    const other = values.find((value) => !labels.includes(value)) ?? '';
    return { chosen: values.filter((value) => labels.includes(value)), otherOn: other !== '', other };
  });
}

/** Labels with a comma are quoted, so that two answers never read as three. */
export function wordAnswers(answers: Answers): string {
  return Object.values(answers)
    .map((values) =>
      values.map((value) => (value.includes(',') && values.length > 1 ? `“${value}”` : value)).join(', '),
    )
    .join(' · ');
}

/** A stored draft counts only for the very questions it was made for. */
export function parseDraft(text: string | null, questions: readonly Question[]): Draft {
  const empty = emptyDraft(questions);
  if (text === null) return empty;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return empty;
  }
  if (!Array.isArray(value) || value.length !== questions.length) return empty;
  const draft: DraftPart[] = [];
  for (const [at, part] of value.entries()) {
    const question = questions[at];
    if (question === undefined || !isJsonObject(part) || !Array.isArray(part.chosen)) return empty;
    const known = question.options.map((o) => o.label);
    const chosen = part.chosen.filter((label): label is string => known.includes(label));
    draft.push({
      chosen: question.multi_select ? chosen : chosen.slice(0, 1),
      otherOn: part.otherOn === true,
      other: typeof part.other === 'string' ? part.other : '',
    });
  }
  return draft;
}

function keyOf(sessionId: string, toolCallId: string): string {
  return `engram.answer.${sessionId}.${toolCallId}`;
}

export function loadDraft(sessionId: string, toolCallId: string, questions: readonly Question[]): Draft {
  return parseDraft(localStorage.getItem(keyOf(sessionId, toolCallId)), questions);
}

export function saveDraft(sessionId: string, toolCallId: string, draft: Draft | undefined): void {
  const key = keyOf(sessionId, toolCallId);
  if (draft === undefined || !isTouched(draft)) localStorage.removeItem(key);
  else localStorage.setItem(key, JSON.stringify(draft));
}
