// What became of each question, from the log alone: one card per tool_call_id, whatever the order
// and however often its events appear. Answered is terminal; a dismissal closes an unanswered
// card; an answer that was stored is "sent" until the agent has it or its delivery failed.
//
//   waiting → sent → answered          waiting → dismissed
//              ↘ failed → sent (retry)

import type { Actor, LogEvent } from './api-types.js';
import type { Answers, Question } from './wire-types.js';

export type CardState =
  | { readonly status: 'waiting' }
  | { readonly status: 'sent'; readonly answers: Answers; readonly by: Actor; readonly at: string }
  | {
      readonly status: 'failed';
      readonly answers: Answers | undefined;
      readonly code: string;
      readonly message: string;
    }
  | { readonly status: 'answered'; readonly answers: Answers; readonly by: Actor | undefined; readonly at: string }
  | { readonly status: 'dismissed'; readonly reason: string; readonly by: Actor | undefined; readonly at: string };

export interface QuestionCard {
  readonly toolCallId: string;
  readonly idx: number;
  readonly askedAt: string;
  /** Empty when the log tells of an answer to a question it does not hold: shown, never answerable. */
  readonly questions: readonly Question[];
  readonly previews: readonly (readonly string[])[];
  readonly state: CardState;
}

interface Facts {
  toolCallId: string;
  idx: number;
  askedAt: string;
  questions: readonly Question[];
  previews: readonly (readonly string[])[];
  submitted?: { answers: Answers; by: Actor; at: string };
  failed?: { code: string; message: string };
  answered?: { answers: Answers; at: string };
  dismissed?: { reason: string; by: Actor | undefined; at: string };
}

function toState(facts: Facts): CardState {
  const { submitted, failed, answered, dismissed } = facts;
  if (answered !== undefined) return { status: 'answered', ...answered, by: submitted?.by };
  if (dismissed !== undefined) return { status: 'dismissed', ...dismissed };
  if (failed !== undefined) return { status: 'failed', answers: submitted?.answers, ...failed };
  if (submitted !== undefined) return { status: 'sent', ...submitted };
  return { status: 'waiting' };
}

/** In order of first appearance. */
export function buildQuestionCards(events: readonly LogEvent[]): ReadonlyMap<string, QuestionCard> {
  const all = new Map<string, Facts>();

  function factsOf(toolCallId: string, { idx, at }: LogEvent): Facts {
    const known = all.get(toolCallId);
    if (known !== undefined) return known;
    const made: Facts = { toolCallId, idx, askedAt: at, questions: [], previews: [] };
    all.set(toolCallId, made);
    return made;
  }

  for (const entry of events) {
    const { event } = entry;
    switch (event.type) {
      case 'user_question': {
        const facts = factsOf(event.tool_call_id, entry);
        if (facts.questions.length > 0) break;
        facts.questions = event.questions;
        facts.previews = event.option_previews ?? [];
        facts.idx = entry.idx;
        facts.askedAt = entry.at;
        break;
      }
      case 'answer_submitted': {
        const facts = factsOf(event.tool_call_id, entry);
        facts.submitted = { answers: event.answers, by: event.by, at: entry.at };
        delete facts.failed;
        break;
      }
      case 'answer_failed':
        factsOf(event.tool_call_id, entry).failed = { code: event.code, message: event.message };
        break;
      case 'question_answered':
        factsOf(event.tool_call_id, entry).answered ??= { answers: event.answers, at: entry.at };
        break;
      case 'question_dismissed':
        factsOf(event.tool_call_id, entry).dismissed ??= { reason: event.reason, by: event.by, at: entry.at };
        break;
      default:
        break;
    }
  }
  return new Map(
    [...all].map(([id, facts]) => {
      const { toolCallId, idx, askedAt, questions, previews } = facts;
      return [id, { toolCallId, idx, askedAt, questions, previews, state: toState(facts) }];
    }),
  );
}

export function isClosed(card: QuestionCard): boolean {
  return card.state.status === 'answered' || card.state.status === 'dismissed';
}

/** Answers are told apart by their question's words; where two are equal, an answer would be for both. */
export function hasEqualQuestions({ questions }: QuestionCard): boolean {
  return new Set(questions.map(({ question }) => question)).size < questions.length;
}

/** Can be answered here and now: its questions are known and nothing closed it. */
export function isOpen(card: QuestionCard): boolean {
  return card.questions.length > 0 && !isClosed(card);
}
