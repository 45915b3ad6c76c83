// Accepts an answer: checked, then `answer_submitted` and its command in one transaction. The
// first stored wins; the same answer again is fine, and the retry of one that failed to arrive.

import { type Answers, assertNever } from '@engram/harness-proto';
import { sql } from 'kysely';
import { checkAnswers, sameAnswers } from '../check-answers.js';
import type { QuestionState, Refusal } from '../coordinator.js';
import { isUuid } from '../cursor.js';
import type { Db } from '../database.js';
import { toEventRow } from '../event-rows.js';
import { EVENTS_CHANNEL, WORK_CHANNEL } from '../live/notifier.js';
import { commandText } from '../outbox.js';
import { cleanText, toJsonText } from '../payload.js';
import { readQuestion } from '../questions.js';
import type { Actor } from '../session-events.js';
import { lockSession } from '../session-row.js';

export type AnswerOutcome =
  | { readonly ok: true; readonly state: QuestionState | 'answered' }
  | Refusal<'not_found' | 'question_closed' | 'invalid_answers'>;

interface Answer {
  readonly tool_call_id: string;
  readonly answers: Answers;
  readonly by: Actor;
}

export async function acceptAnswer(db: Db, id: string, given: Answer): Promise<AnswerOutcome> {
  const answer = { ...given, tool_call_id: cleanText(given.tool_call_id), answers: cleanAnswers(given.answers) };
  if (!isUuid(id)) return { ok: false, reason: 'not_found' };
  const question = await readQuestion(db, id, answer.tool_call_id);
  if (question === undefined) return { ok: false, reason: 'not_found' };
  if (!checkAnswers(question.questions, answer.answers).ok) return { ok: false, reason: 'invalid_answers' };
  if (await storeAnswer(db, id, answer, 'waiting')) return { ok: true, state: 'sent' };
  return db.transaction().execute((tx) => answerSettled(tx, id, answer));
}

/** Of a question that does not wait any more, as far as anybody could see a moment ago. */
async function answerSettled(tx: Db, id: string, answer: Answer): Promise<AnswerOutcome> {
  const session = await lockSession(tx, id);
  const question = session === undefined ? undefined : await readQuestion(tx, id, answer.tool_call_id);
  if (question === undefined) return { ok: false, reason: 'not_found' };
  const same = question.answers !== null && sameAnswers(question.answers, answer.answers);
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
  await storeAnswer(tx, id, answer, question.state);
  return { ok: true, state: 'sent' };
}

/**
 * All that an accepted answer changes, in one statement, for a person waits for it: false when the question is not in
 * that state. It locks the session first, as every writer does; rows that changed while it waited are looked at anew.
 * The hints go out with its commit, because answers are few: see notifier.ts for what is written all the time. The one
 * for work names the session: its agent may be waiting.
 */
async function storeAnswer(db: Db, id: string, answer: Answer, from: 'waiting' | 'failed'): Promise<boolean> {
  const { tool_call_id, answers, by } = answer;
  const { kind, data } = toEventRow(id, 0, { type: 'answer_submitted', tool_call_id, answers, by });
  const command = commandText(id, {
    kind: 'answer',
    ref: tool_call_id,
    command: { type: 'answer_question', tool_call_id, answers },
    wakes: true,
  });
  const { rows } = await sql`
    with locked as (
      select id from sessions where id = ${id} for no key update
    ), settled as (
      update questions q set state = 'sent', answers = ${toJsonText(answers)}::jsonb from locked
      where q.session_id = locked.id and q.tool_call_id = ${tool_call_id} and q.state = ${from}
      returning q.session_id, q.tool_call_id
    ), moved as (
      update sessions s set last_idx = s.last_idx + 1, updated_at = clock_timestamp(), wish_version = s.wish_version + 1,
        attend_until = case when s.attend_tool_call_id = settled.tool_call_id then null else s.attend_until end,
        attend_tool_call_id = nullif(s.attend_tool_call_id, settled.tool_call_id)
      from settled where s.id = settled.session_id returning s.id, s.last_idx
    ), told as (
      insert into events (session_id, idx, at, kind, data, size)
      select id, last_idx, statement_timestamp(), ${kind}, ${data}::jsonb, octet_length(${data}::text) from moved
    ), owed as (
      insert into outbox (session_id, kind, ref, command, wakes, accepted_at)
      select id, 'answer', ${tool_call_id}, ${command}::jsonb, true, clock_timestamp() from moved
    )
    select pg_notify(${EVENTS_CHANNEL}, ''), pg_notify(${WORK_CHANNEL}, ${id}::text) from moved`.execute(db);
  return rows.length > 0;
}

/** As the database will hold them, so that the same answer compares equal when it comes again. */
function cleanAnswers(answers: Answers): Answers {
  return Object.fromEntries(
    Object.entries(answers).map(([question, values]) => [cleanText(question), values.map(cleanText)]),
  );
}
