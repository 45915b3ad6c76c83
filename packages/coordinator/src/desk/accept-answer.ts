// Accepts an answer: checked, then `answer_submitted` and its command in one transaction. The
// first stored wins; the same answer again is fine, and the retry of one that failed to arrive.

import { type Answers, assertNever } from '@engram/harness-proto';
import { sql } from 'kysely';
import { checkAnswers, sameAnswers } from '../check-answers.js';
import type { QuestionState, Refusal } from '../coordinator.js';
import type { Db } from '../database.js';
import { eventInsert, toEventRow } from '../event-rows.js';
import { commandInsert } from '../outbox.js';
import { cleanText, toJsonText } from '../payload.js';
import { readQuestion } from '../questions.js';
import type { Actor } from '../session-events.js';
import { lockSession } from '../session-row.js';

export type AnswerOutcome =
  | { readonly ok: true; readonly state: QuestionState | 'answered' }
  | Refusal<'not_found' | 'question_closed' | 'invalid_answers'>;

export async function acceptAnswer(
  db: Db,
  id: string,
  answer: { readonly tool_call_id: string; readonly answers: Answers; readonly by: Actor },
): Promise<AnswerOutcome> {
  const tool_call_id = cleanText(answer.tool_call_id);
  const answers = cleanAnswers(answer.answers);
  return db.transaction().execute(async (tx): Promise<AnswerOutcome> => {
    const session = await lockSession(tx, id);
    const question = session === undefined ? undefined : await readQuestion(tx, id, tool_call_id);
    if (session === undefined || question === undefined) return { ok: false, reason: 'not_found' };
    if (!checkAnswers(question.questions, answers).ok) return { ok: false, reason: 'invalid_answers' };
    const same = question.answers !== null && sameAnswers(question.answers, answers);
    switch (question.state) {
      case 'dismissed':
        return { ok: false, reason: 'question_closed' };
      case 'sent':
      case 'answered':
        return same ? { ok: true, state: question.state } : { ok: false, reason: 'question_closed' };
      case 'failed':
        if (!same) return { ok: false, reason: 'question_closed' };
        break;
      case 'waiting':
        break;
      default:
        return assertNever(question.state);
    }
    const told = { type: 'answer_submitted', tool_call_id, answers, by: answer.by } as const;
    const command = { type: 'answer_question', tool_call_id, answers } as const;
    const idx = session.last_idx + 1;
    // All that an accepted answer changes, in one statement: a person waits for it.
    await sql`with moved as (
        update sessions set last_idx = ${idx}, updated_at = clock_timestamp(), wish_version = wish_version + 1,
          attend_until = case when attend_tool_call_id = ${tool_call_id} then null else attend_until end,
          attend_tool_call_id = nullif(attend_tool_call_id, ${tool_call_id})
        where id = ${id}
      ), told as (${eventInsert([toEventRow(id, idx, told)])}), settled as (
        update questions set state = 'sent', answers = ${toJsonText(answers)}::jsonb
        where session_id = ${id} and tool_call_id = ${tool_call_id}
      )
      ${commandInsert(id, { kind: 'answer', ref: tool_call_id, command, wakes: true })}`.execute(tx);
    return { ok: true, state: 'sent' };
  });
}

/** As the database will hold them, so that the same answer compares equal when it comes again. */
function cleanAnswers(answers: Answers): Answers {
  return Object.fromEntries(
    Object.entries(answers).map(([question, values]) => [cleanText(question), values.map(cleanText)]),
  );
}
