// Closes or holds a question a person looks at. A dismissal is accepted by storing
// `question_dismissed` with its command: the card closes now, the agent hears it when it wakes.

import { sql } from 'kysely';
import type { Outcome } from '../coordinator.js';
import type { Db } from '../database.js';
import { putCommand } from '../outbox.js';
import { cleanText } from '../payload.js';
import { readQuestion } from '../questions.js';
import type { Actor } from '../session-events.js';
import { appendToSession, lockSession, moveWishes } from '../session-row.js';

type QuestionOutcome = Outcome<'not_found' | 'question_closed'>;

export async function dismissQuestion(
  db: Db,
  id: string,
  dismissal: { readonly tool_call_id: string; readonly reason: string; readonly by: Actor },
): Promise<QuestionOutcome> {
  const tool_call_id = cleanText(dismissal.tool_call_id);
  const reason = cleanText(dismissal.reason);
  return db.transaction().execute(async (tx): Promise<QuestionOutcome> => {
    const session = await lockSession(tx, id);
    const question = session === undefined ? undefined : await readQuestion(tx, id, tool_call_id);
    if (session === undefined || question === undefined) return { ok: false, reason: 'not_found' };
    if (question.state === 'dismissed' && question.dismiss_reason === reason) return { ok: true };
    if (question.state !== 'waiting' && question.state !== 'failed') return { ok: false, reason: 'question_closed' };
    if (await isPromptOnItsWay(tx, id)) return { ok: false, reason: 'question_closed' };
    const { by } = dismissal;
    const idx = await appendToSession(tx, session, [{ type: 'question_dismissed', tool_call_id, reason, by }]);
    await sql`update questions set state = 'dismissed', dismiss_reason = ${reason}, closed_idx = ${idx}
      where session_id = ${id} and tool_call_id = ${tool_call_id}`.execute(tx);
    await sql`update sessions set attend_tool_call_id = null, attend_until = null
      where id = ${id} and attend_tool_call_id = ${tool_call_id}`.execute(tx);
    const command = { type: 'dismiss_question', tool_call_id, reason } as const;
    await putCommand(tx, id, { kind: 'dismiss', ref: tool_call_id, command, wakes: true });
    return { ok: true };
  });
}

/**
 * Accepted before the question was known, and it takes the question's place when it gets there: the agent would never
 * read the reason. One that its harness has queued already waits behind the question.
 */
async function isPromptOnItsWay(tx: Db, id: string): Promise<boolean> {
  const { rows } = await sql`select 1 from outbox
    where session_id = ${id} and kind = 'prompt' and seen_at is null and retired_at is null limit 1`.execute(tx);
  return rows.length > 0;
}

/** Holds the question for `holdMs` from now by the database's clock; 0 lets go. */
export async function attendQuestion(
  db: Db,
  id: string,
  rawToolCallId: string,
  holdMs: number,
): Promise<QuestionOutcome> {
  const toolCallId = cleanText(rawToolCallId);
  return db.transaction().execute(async (tx): Promise<QuestionOutcome> => {
    const session = await lockSession(tx, id);
    const question = session === undefined ? undefined : await readQuestion(tx, id, toolCallId);
    if (session === undefined || question === undefined) return { ok: false, reason: 'not_found' };
    if (question.state !== 'waiting' && question.state !== 'failed') return { ok: false, reason: 'question_closed' };
    if (holdMs > 0) {
      await sql`update sessions set attend_tool_call_id = ${toolCallId}, sleep_asked = false,
        attend_until = clock_timestamp() + make_interval(secs => ${holdMs / 1000}) where id = ${id}`.execute(tx);
    } else {
      await sql`update sessions set attend_tool_call_id = null, attend_until = null
        where id = ${id} and attend_tool_call_id = ${toolCallId}`.execute(tx);
    }
    await moveWishes(tx, id);
    return { ok: true };
  });
}
