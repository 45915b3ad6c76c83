// Interrupt, sleep and wake: what a person wants of the session as a whole. Each gives the status
// the session has at that moment.

import { sql } from 'kysely';
import type { Refusal } from '../coordinator.js';
import type { Db } from '../database.js';
import { putCommand } from '../outbox.js';
import { closeWaitingQuestions } from '../questions.js';
import type { Actor, SessionStatus } from '../session-events.js';
import { lockSession, moveWishes } from '../session-row.js';

export type Steered<R extends string> = { readonly ok: true; readonly status: SessionStatus } | Refusal<R>;

/**
 * Closes a waiting question (the agent hears its denial at the next wake, nobody is woken for it)
 * and stops an open run. With neither there is nothing to stop and nothing is kept.
 */
export async function interrupt(db: Db, id: string, by: Actor): Promise<Steered<'not_found'>> {
  return db.transaction().execute(async (tx): Promise<Steered<'not_found'>> => {
    const session = await lockSession(tx, id);
    if (session === undefined) return { ok: false, reason: 'not_found' };
    const closed = await closeWaitingQuestions(tx, session, 'interrupted', by);
    for (const tool_call_id of closed) {
      const command = { type: 'dismiss_question', tool_call_id, reason: 'interrupted' } as const;
      await putCommand(tx, id, { kind: 'dismiss', ref: tool_call_id, command, wakes: false });
    }
    if (session.open_run !== null) {
      const asked = await sql`select 1 from outbox
        where session_id = ${id} and kind = 'interrupt' and retired_at is null`.execute(tx);
      if (asked.rows.length === 0) {
        await putCommand(tx, id, { kind: 'interrupt', ref: '', command: { type: 'interrupt' }, wakes: true });
      }
    }
    return { ok: true, status: session.status };
  });
}

export async function sleep(db: Db, id: string): Promise<Steered<'not_found' | 'run_open'>> {
  return db.transaction().execute(async (tx): Promise<Steered<'not_found' | 'run_open'>> => {
    const session = await lockSession(tx, id);
    if (session === undefined) return { ok: false, reason: 'not_found' };
    if (session.open_run !== null) return { ok: false, reason: 'run_open' };
    await sql`update sessions set sleep_asked = lease_host is not null, wake_asked = false,
      attend_tool_call_id = null, attend_until = null where id = ${id}`.execute(tx);
    await moveWishes(tx, id);
    return { ok: true, status: session.status };
  });
}

export async function wake(db: Db, id: string): Promise<Steered<'not_found'>> {
  return db.transaction().execute(async (tx): Promise<Steered<'not_found'>> => {
    const session = await lockSession(tx, id);
    if (session === undefined) return { ok: false, reason: 'not_found' };
    // An awake session stays as it is; one that is falling asleep is turned back.
    await sql`update sessions set wake_asked = (status <> 'active' or sleep_asked), sleep_asked = false
      where id = ${id}`.execute(tx);
    await moveWishes(tx, id);
    return { ok: true, status: session.status };
  });
}
