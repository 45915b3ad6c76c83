// What a host needs to know of a session it holds: what its harness must hear at an attach, the
// commands that came since, and the wishes that are not commands.

import type { OpenQuestion } from '@engram/harness-proto';
import { sql } from 'kysely';
import type { AttachFacts, OutboxCommand, Refusal } from '../coordinator.js';
import { isUuid } from '../cursor.js';
import type { Db } from '../database.js';
import { handCommands } from '../outbox.js';
import { lockLeasedSession } from '../session-row.js';
import { takeFiles } from './session-files.js';

const RECENTLY_CLOSED = 100;

/**
 * A question that a person closed and that the harness has not reported closed is still listed as
 * open: the agent's call waits, and the command that follows says how it ends.
 */
export async function attachFacts(
  db: Db,
  sessionId: string,
  epoch: number,
): Promise<AttachFacts | Refusal<'stale_epoch'>> {
  return db.transaction().execute(async (tx): Promise<AttachFacts | Refusal<'stale_epoch'>> => {
    const session = await lockLeasedSession(tx, sessionId, epoch);
    if (session === undefined) return { ok: false, reason: 'stale_epoch' };
    await takeFiles(tx, sessionId);
    const open = await sql<OpenQuestion>`select tool_call_id, questions from questions where session_id = ${sessionId}
      and (state in ('waiting', 'sent', 'failed') or state = 'dismissed' and not proven or redo) order by asked_idx`.execute(
      tx,
    );
    const closed = await sql<{
      tool_call_id: string;
    }>`select tool_call_id from questions where session_id = ${sessionId}
      and (state = 'answered' or state = 'dismissed' and proven) and not redo order by closed_idx desc limit ${RECENTLY_CLOSED}`.execute(
      tx,
    );
    return {
      open: open.rows,
      closed: closed.rows.map((row) => row.tool_call_id).reverse(),
      commands: (await handCommands(tx, sessionId, epoch, 0)) ?? [],
      lastStoredSeq: session.harness_seq,
    };
  });
}

export async function commandsAfter(
  db: Db,
  sessionId: string,
  epoch: number,
  after: number,
): Promise<readonly OutboxCommand[] | Refusal<'stale_epoch'>> {
  return (await handCommands(db, sessionId, epoch, after)) ?? { ok: false, reason: 'stale_epoch' };
}

export interface SessionWishes {
  readonly attend?: { readonly tool_call_id: string; readonly remainingMs: number };
  readonly sleep: boolean;
  readonly deleted: boolean;
}

export async function sessionWishes(db: Db, sessionId: string): Promise<SessionWishes> {
  if (!isUuid(sessionId)) return { sleep: false, deleted: true };
  const { rows } = await sql<{ sleep_asked: boolean; attend_tool_call_id: string | null; remaining: number | null }>`
    select sleep_asked, attend_tool_call_id,
      ceil(extract(epoch from attend_until - clock_timestamp()) * 1000)::bigint as remaining
    from sessions where id = ${sessionId}`.execute(db);
  const row = rows[0];
  if (row === undefined) return { sleep: false, deleted: true };
  const { attend_tool_call_id: call, remaining } = row;
  const wishes = { sleep: row.sleep_asked, deleted: false };
  if (call === null || remaining === null || remaining <= 0) return wishes;
  return { ...wishes, attend: { tool_call_id: call, remainingMs: remaining } };
}
