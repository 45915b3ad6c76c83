// The session's row: locking it, and adding events and wishes to it. Whoever changes a session
// holds this lock, so its indices have no gap and the rules about questions and prompts are
// decided by one writer at a time.

import { sql } from 'kysely';
import { isUuid } from './cursor.js';
import type { Db } from './database.js';
import { type EventRow, insertEventRows, type StorableEvent, toEventRow } from './event-rows.js';
import type { SessionStatus } from './session-events.js';

export interface LockedSession {
  readonly id: string;
  readonly owner_id: string;
  readonly status: SessionStatus;
  readonly last_idx: number;
  readonly harness_seq: number;
  readonly epoch: number;
  readonly lease_host: string | null;
  readonly bound_host: string | null;
  readonly open_run: string | null;
}

/** For a table alias `s`. */
export const LOCKED_COLUMNS = sql.raw(
  's.id, s.owner_id, s.status, s.last_idx, s.harness_seq, s.epoch, s.lease_host, s.bound_host, s.open_run',
);

/** Undefined when there is no such session. */
export async function lockSession(tx: Db, id: string): Promise<LockedSession | undefined> {
  if (!isUuid(id)) return undefined;
  const { rows } = await sql<LockedSession>`
    select ${LOCKED_COLUMNS} from sessions s where s.id = ${id} for no key update`.execute(tx);
  return rows[0];
}

/** Many at once, always in the same order, so that two writers of many cannot wait for each other. */
export async function lockSessions(tx: Db, ids: readonly string[]): Promise<readonly LockedSession[]> {
  const { rows } = await sql<LockedSession>`
    select ${LOCKED_COLUMNS} from sessions s where s.id = any(${[...ids]}::uuid[]) order by s.id for no key update`.execute(
    tx,
  );
  return rows;
}

/** Only for the host that holds the lease with this epoch. */
export async function lockLeasedSession(tx: Db, id: string, epoch: number): Promise<LockedSession | undefined> {
  const session = await lockSession(tx, id);
  return session !== undefined && holdsLease(session, epoch) ? session : undefined;
}

export function holdsLease(session: LockedSession, epoch: number): boolean {
  return session.epoch === epoch && session.lease_host !== null;
}

/**
 * Appends events to a locked session and gives the new newest index. `last_idx` of the value passed
 * in is where it goes on, so a caller that appends twice passes the number on.
 */
export async function appendToSession(
  tx: Db,
  session: Pick<LockedSession, 'id' | 'last_idx'>,
  events: readonly StorableEvent[],
): Promise<number> {
  const lastIdx = session.last_idx + events.length;
  await sql`update sessions set last_idx = ${lastIdx}, updated_at = clock_timestamp() where id = ${session.id}`.execute(
    tx,
  );
  await insertEventRows(
    tx,
    events.map((event, at) => toEventRow(session.id, session.last_idx + at + 1, event)),
  );
  return lastIdx;
}

/** Makes the host that holds the session look at its commands and wishes again. */
export async function moveWishes(tx: Db, sessionId: string): Promise<void> {
  await sql`update sessions set wish_version = wish_version + 1 where id = ${sessionId}`.execute(tx);
}

export async function changeStatus(
  tx: Db,
  session: Pick<LockedSession, 'id' | 'last_idx' | 'status'>,
  to: SessionStatus,
): Promise<void> {
  if (session.status === to) return;
  await sql`update sessions set status = ${to}, last_idx = last_idx + 1, updated_at = clock_timestamp()
    where id = ${session.id}`.execute(tx);
  await insertEventRows(tx, [statusChanged(session, to)]);
}

/** The row of the event that tells a change of status; it is the session's next. */
export function statusChanged(session: Pick<LockedSession, 'id' | 'last_idx' | 'status'>, to: SessionStatus): EventRow {
  return toEventRow(session.id, session.last_idx + 1, { type: 'status_changed', from: session.status, to });
}
