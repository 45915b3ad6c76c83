// A host died in the middle of a run and the files of that run with it: the session goes on from what
// is stored. In the log the run is over, and what began it (a prompt, an answer, a dismissal) is owed
// again, so that the agent hears it once more on the older files. Nothing in the log is stored twice.

import { sql } from 'kysely';
import type { Db } from '../database.js';
import { appendToSession, type LockedSession } from '../session-row.js';

/** The session's row is locked. Gives the newest index and whether something is owed again. */
export async function rewindOpenRun(
  tx: Db,
  session: LockedSession,
): Promise<{ readonly last_idx: number; readonly owedAgain: boolean }> {
  const { id, open_run: run } = session;
  if (run === null) return { last_idx: session.last_idx, owedAgain: false };
  const last_idx = await appendToSession(tx, session, [{ type: 'run_interrupted', run_id: run }]);
  await sql`update sessions set open_run = null where id = ${id}`.execute(tx);
  const stops = await sql`update outbox set retired_at = clock_timestamp()
    where session_id = ${id} and kind = 'interrupt' and retired_at is null returning 1`.execute(tx);
  // Somebody wanted this run to end, and it did.
  if (stops.rows.length > 0) return { last_idx, owedAgain: false };

  const { rows: begun } = await sql<{ idx: number; prompt_id: string | null }>`
    select idx, data->>'prompt_id' as prompt_id from events
    where session_id = ${id} and kind = 'run_started' and data->>'run_id' = ${run} order by idx desc limit 1`.execute(
    tx,
  );
  const start = begun[0];
  if (start === undefined) return { last_idx, owedAgain: false };
  const { rows: before } = await sql<{ idx: number | null }>`select max(idx) as idx from events
    where session_id = ${id} and idx < ${start.idx} and kind in ('run_completed', 'run_interrupted')`.execute(tx);

  const questions = await sql<{ tool_call_id: string }>`update questions set redo = true
    where session_id = ${id} and state in ('answered', 'dismissed') and proven and closed_idx > ${before[0]?.idx ?? 0}
    returning tool_call_id`.execute(tx);
  const calls = questions.rows.map((row) => row.tool_call_id);
  const owed = await sql`update outbox set retired_at = null, handed_at = null, seen_at = null where id in (
      select max(id) from outbox where session_id = ${id} and retired_at is not null
        and (kind = 'prompt' and ref = ${start.prompt_id ?? ''}
          or kind in ('answer', 'dismiss') and ref = any(${calls}::text[]))
      group by kind, ref) returning 1`.execute(tx);
  return { last_idx, owedAgain: owed.rows.length > 0 };
}

/** The agent has heard of these questions again. */
export async function endRedo(
  tx: Db,
  heard: readonly { readonly sessionId: string; readonly toolCallId: string }[],
): Promise<void> {
  if (heard.length === 0) return;
  await sql`update questions q set redo = false
    from unnest(${heard.map((one) => one.sessionId)}::uuid[], ${heard.map((one) => one.toolCallId)}::text[])
      as h (session_id, tool_call_id)
    where q.redo and q.session_id = h.session_id and q.tool_call_id = h.tool_call_id`.execute(tx);
}
