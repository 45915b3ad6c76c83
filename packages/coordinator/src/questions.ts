// Questions as the log knows them. `waiting` and `failed` may still be answered or closed by a
// person, `sent` has its answer stored, `answered` and `dismissed` are final: nothing that arrives
// later opens them again.

import type { Answers, Question } from '@engram/harness-proto';
import { sql } from 'kysely';
import type { Db } from './database.js';
import { toJsonText } from './payload.js';
import type { Actor } from './session-events.js';
import { appendToSession } from './session-row.js';

export type StoredQuestionState = 'waiting' | 'sent' | 'failed' | 'answered' | 'dismissed';

export interface StoredQuestion {
  readonly session_id: string;
  readonly tool_call_id: string;
  readonly questions: readonly Question[];
  readonly state: StoredQuestionState;
  readonly answers: Answers | null;
  readonly dismiss_reason: string | null;
}

const COLUMNS = sql.raw('session_id, tool_call_id, questions, state, answers, dismiss_reason');

/** The session's row is locked. */
export async function readQuestion(tx: Db, sessionId: string, toolCallId: string): Promise<StoredQuestion | undefined> {
  const { rows } = await sql<StoredQuestion>`select ${COLUMNS} from questions
    where session_id = ${sessionId} and tool_call_id = ${toolCallId}`.execute(tx);
  return rows[0];
}

export async function readQuestions(
  tx: Db,
  keys: readonly { readonly sessionId: string; readonly toolCallId: string }[],
): Promise<readonly StoredQuestion[]> {
  if (keys.length === 0) return [];
  const { rows } = await sql<StoredQuestion>`select ${COLUMNS} from questions
    where (session_id, tool_call_id) in (
      select * from unnest(${keys.map((key) => key.sessionId)}::uuid[], ${keys.map((key) => key.toolCallId)}::text[]))`.execute(
    tx,
  );
  return rows;
}

/**
 * Closes every question of the session that waits for a person, with its event. Gives the calls
 * that were closed. The session's row is locked.
 */
export async function closeWaitingQuestions(
  tx: Db,
  session: { readonly id: string; readonly last_idx: number },
  reason: string,
  by: Actor,
): Promise<readonly string[]> {
  const { rows } = await sql<{ tool_call_id: string }>`select tool_call_id from questions
    where session_id = ${session.id} and state in ('waiting', 'failed') order by asked_idx`.execute(tx);
  const calls = rows.map((row) => row.tool_call_id);
  if (calls.length === 0) return calls;
  await appendToSession(
    tx,
    session,
    calls.map((tool_call_id) => ({ type: 'question_dismissed', tool_call_id, reason, by })),
  );
  await sql`update questions set state = 'dismissed', dismiss_reason = ${reason}, closed_idx = ${session.last_idx + 1}
    where session_id = ${session.id} and tool_call_id = any(${calls}::text[])`.execute(tx);
  await sql`update sessions set attend_tool_call_id = null, attend_until = null where id = ${session.id}`.execute(tx);
  return calls;
}

/** What became of one question in a batch of harness events. */
export interface QuestionChange {
  readonly sessionId: string;
  readonly toolCallId: string;
  readonly ownerId: string;
  readonly questions: readonly Question[];
  readonly state: StoredQuestionState;
  readonly answers: Answers | null;
  readonly reason: string | null;
  readonly idx: number;
  readonly proven: boolean;
}

export async function storeQuestionChange(tx: Db, change: QuestionChange): Promise<void> {
  const closed = change.state === 'answered' || change.state === 'dismissed';
  const answers = change.answers === null ? null : toJsonText(change.answers);
  await sql`insert into questions (session_id, tool_call_id, owner_id, questions, asked_at, asked_idx, state, answers,
      dismiss_reason, closed_idx, proven)
    values (${change.sessionId}, ${change.toolCallId}, ${change.ownerId}, ${toQuestionsText(change.questions)}::jsonb,
      statement_timestamp(), ${change.idx}, ${change.state}, ${answers}::jsonb, ${change.reason},
      ${closed ? change.idx : null}, ${change.proven})
    on conflict (session_id, tool_call_id) do update set state = excluded.state,
      answers = coalesce(excluded.answers, questions.answers),
      dismiss_reason = coalesce(excluded.dismiss_reason, questions.dismiss_reason),
      closed_idx = coalesce(questions.closed_idx, excluded.closed_idx), proven = questions.proven or excluded.proven`.execute(
    tx,
  );
  if (closed) {
    await sql`update sessions set attend_tool_call_id = null, attend_until = null
      where id = ${change.sessionId} and attend_tool_call_id = ${change.toolCallId}`.execute(tx);
  }
}

function toQuestionsText(questions: readonly Question[]): string {
  const text = toJsonText(questions);
  return text.startsWith('[') ? text : '[]';
}
