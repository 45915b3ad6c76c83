// Leases: the right of one host to run a session, for fifteen seconds by the database's clock. An
// epoch that rises with each claim fences whoever held the session before. Every change of status
// is stored as an event in the transaction that makes it.
//
//   claim: → active     release: → idle | host_lost | failed     expired: claimed again, or put to rest

import { sql } from 'kysely';
import type { Claim, Outcome } from '../coordinator.js';
import { isUuid } from '../cursor.js';
import type { Db } from '../database.js';
import { eventInsert } from '../event-rows.js';
import { retireCommands, WAKING } from '../outbox.js';
import type { SessionStatus } from '../session-events.js';
import {
  appendToSession,
  changeStatus,
  LOCKED_COLUMNS,
  type LockedSession,
  lockLeasedSession,
  lockSessions,
  statusChanged,
} from '../session-row.js';
import { SESSION_VIEW, type SessionViewRow, toSession } from '../session-view.js';
import { mayTake, PORTION, placementTables } from './placement.js';
import { rewindOpenRun } from './rewind.js';
import { FILES_COLUMNS, type FilesRow, isLost, toClaimedFiles } from './session-files.js';

export const LEASE_MS = 15_000;

const lease = (ms: number) => sql`clock_timestamp() + make_interval(secs => ${ms / 1000})`;

/** Something that an asleep session (alias `s`) would wake for. */
const HAS_WORK = sql`(s.wake_asked or coalesce(s.attend_until > now(), false)
  or exists (select 1 from outbox o where o.session_id = s.id and ${WAKING} and o.id > s.failed_after))`;

export async function claimSessions(
  db: Db,
  hostId: string,
  limit: number,
  leaseMs: number,
): Promise<{ readonly claims: readonly Claim[]; readonly settled: number }> {
  // Each leaves alone what the other takes: neither has to wait.
  const [claims, settled] = await Promise.all([
    limit > 0 ? claim(db, hostId, limit, leaseMs) : [],
    settleExpired(db, hostId, leaseMs),
  ]);
  return { claims, settled };
}

async function claim(db: Db, hostId: string, limit: number, leaseMs: number): Promise<readonly Claim[]> {
  return db.transaction().execute(async (tx) => {
    const { rows: locked } = await sql<LockedSession & FilesRow & { readonly my_store: string | null }>`
      with ${placementTables(hostId)}, candidates as (
        select o.session_id as id from outbox o where o.retired_at is null and o.wakes
        union select id from sessions where wake_asked
        union select id from sessions where attend_until is not null and attend_until > now()
        union select id from sessions where lease_host is not null and lease_until <= now() and open_run is not null
        union select id from sessions where status = 'host_lost' and bound_host = ${hostId} and open_run is not null
      )
      select ${LOCKED_COLUMNS}, ${FILES_COLUMNS}, (select store_id from me) as my_store from sessions s
      where s.id in (select id from candidates)
        and (s.lease_host is null or s.lease_until <= now())
        and (${HAS_WORK} or ((s.lease_host is not null or s.status = 'host_lost') and s.open_run is not null))
        and not exists (select 1 from hosts h where h.host_id = ${hostId} and h.draining)
        and ${mayTake(hostId, leaseMs)}
      order by s.updated_at
      limit least(${limit}::int, case when exists (select 1 from peers) then ${PORTION} else ${limit} end::int)
      for no key update of s skip locked`.execute(tx);
    if (locked.length === 0) return [];
    await takeLeases(tx, locked, hostId, leaseMs);
    for (const session of locked) {
      if (session.open_run !== null && isLost(session, hostId)) await rewindOpenRun(tx, withActive(session));
    }
    const views = await sql<SessionViewRow>`select ${SESSION_VIEW} from sessions s
      where s.id = any(${locked.map((session) => session.id)}::uuid[])`.execute(tx);
    const before = new Map(locked.map((session) => [session.id, session]));
    return views.rows.flatMap((row): Claim[] => {
      const session = before.get(row.id);
      if (session === undefined) return [];
      return [
        {
          session: toSession(row),
          epoch: row.epoch,
          previous: session.status,
          lastHarnessSeq: row.harness_seq,
          files: toClaimedFiles(session, hostId, session.my_store),
        },
      ];
    });
  });
}

/** As the row is after its lease was taken. */
function withActive(session: LockedSession): LockedSession {
  return { ...session, status: 'active', last_idx: session.last_idx + (session.status === 'active' ? 0 : 1) };
}

async function takeLeases(tx: Db, sessions: readonly LockedSession[], hostId: string, leaseMs: number): Promise<void> {
  const ids = sessions.map((session) => session.id);
  const woken = sessions.filter((session) => session.status !== 'active');
  await sql`with noted as (
      insert into session_hosts (session_id, host_id) select id, ${hostId} from unnest(${ids}::uuid[]) as id on conflict do nothing
    ), leased as (
      update sessions set epoch = epoch + 1, lease_host = ${hostId}, lease_until = ${lease(leaseMs)},
        wake_asked = false, sleep_asked = false, failed_after = 0, wish_version = wish_version + 1,
        bound_host = case when workspace->>'kind' = 'path' then ${hostId} else bound_host end,
        status = 'active', last_idx = last_idx + case when status = 'active' then 0 else 1 end, updated_at = clock_timestamp()
      where id = any(${ids}::uuid[])
    )
    ${eventInsert(woken.map((session) => statusChanged(session, 'active')))}`.execute(tx);
}

/**
 * Sessions whose lease ended and that nothing wakes: asleep if their files can be reached from here,
 * lost with their host if they are on that host only. Those with work are left for a claim.
 */
async function settleExpired(db: Db, hostId: string, leaseMs: number): Promise<number> {
  const { rows } = await sql<{ id: string; rest: SessionStatus }>`
    select s.id, case when s.bound_host is null or s.bound_host = ${hostId} then 'idle' else 'host_lost' end as rest
    from sessions s
    where (s.lease_host is not null and s.lease_until <= now() or s.status = 'host_lost' and s.bound_host = ${hostId})
      and case when s.bound_host is null or s.bound_host = ${hostId}
        then not ${HAS_WORK} and s.open_run is null
        else not exists (select 1 from hosts h where h.host_id = s.bound_host and h.seen_at > now() - make_interval(secs => ${leaseMs / 1000})) end
    limit 100`.execute(db);
  if (rows.length === 0) return 0;
  const rest = new Map(rows.map((row) => [row.id, row.rest]));
  return db.transaction().execute(async (tx) => {
    const { rows: still } = await sql<{ id: string }>`select id from sessions
      where id = any(${[...rest.keys()]}::uuid[]) and (lease_host is null or lease_until <= now())
      order by id for no key update skip locked`.execute(tx);
    for (const session of await lockSessions(
      tx,
      still.map((row) => row.id),
    )) {
      await sql`update sessions set lease_host = null, lease_until = null, sleep_asked = false where id = ${session.id}`.execute(
        tx,
      );
      await changeStatus(tx, session, rest.get(session.id) ?? 'idle');
    }
    return still.length;
  });
}

export async function renewLeases(
  db: Db,
  hostId: string,
  held: readonly { readonly sessionId: string; readonly epoch: number }[],
  leaseMs: number,
): Promise<{ readonly lost: readonly string[] }> {
  if (held.length === 0) return { lost: [] };
  const { rows } = await sql<{ id: string }>`
    update sessions s set lease_until = ${lease(leaseMs)}
    from (select s2.id from sessions s2 join unnest(${held.map((one) => one.sessionId)}::uuid[],
        ${held.map((one) => one.epoch)}::bigint[]) as held (id, epoch) on s2.id = held.id and s2.epoch = held.epoch
      where s2.lease_host = ${hostId} order by s2.id for no key update of s2) mine
    where s.id = mine.id returning s.id`.execute(db);
  const kept = new Set(rows.map((row) => row.id));
  return { lost: held.map((one) => one.sessionId).filter((id) => !kept.has(id)) };
}

export async function setStatus(
  db: Db,
  sessionId: string,
  epoch: number,
  to: 'active' | 'evicting',
): Promise<Outcome<'stale_epoch'>> {
  return db.transaction().execute(async (tx): Promise<Outcome<'stale_epoch'>> => {
    const session = await lockLeasedSession(tx, sessionId, epoch);
    if (session === undefined) return { ok: false, reason: 'stale_epoch' };
    await changeStatus(tx, session, to);
    return { ok: true };
  });
}

export async function releaseLease(
  db: Db,
  sessionId: string,
  epoch: number,
  to: 'idle' | 'host_lost' | 'failed',
): Promise<Outcome<'stale_epoch' | 'work_waiting'>> {
  return db.transaction().execute(async (tx): Promise<Outcome<'stale_epoch' | 'work_waiting'>> => {
    const session = await lockLeasedSession(tx, sessionId, epoch);
    if (session === undefined) return { ok: false, reason: 'stale_epoch' };
    if (to === 'idle' && (await hasWork(tx, sessionId))) {
      await sql`update sessions set wake_asked = false where id = ${sessionId}`.execute(tx);
      await changeStatus(tx, session, 'active');
      return { ok: false, reason: 'work_waiting' };
    }
    await sql`update sessions set lease_host = null, lease_until = null, sleep_asked = false where id = ${sessionId}`.execute(
      tx,
    );
    const last_idx = to === 'host_lost' ? session.last_idx : await endOpenRun(tx, session);
    if (to === 'failed') await forgetWishes(tx, sessionId);
    await changeStatus(tx, { ...session, last_idx }, to);
    return { ok: true };
  });
}

/**
 * Nobody works on a session that failed or sleeps: its run is over, and with it whatever was to stop it. A run is
 * open here when its harness died while the host was stopping.
 */
async function endOpenRun(tx: Db, session: LockedSession): Promise<number> {
  if (session.open_run === null) return session.last_idx;
  const last_idx = await appendToSession(tx, session, [{ type: 'run_interrupted', run_id: session.open_run }]);
  await sql`update sessions set open_run = null where id = ${session.id}`.execute(tx);
  await retireCommands(tx, [{ sessionId: session.id, kind: 'interrupt' }]);
  return last_idx;
}

/** A failed session is tried again when somebody asks anew, not for what it failed with. */
async function forgetWishes(tx: Db, sessionId: string): Promise<void> {
  await sql`update sessions set wake_asked = false, attend_tool_call_id = null, attend_until = null,
    failed_after = coalesce((select max(id) from outbox where session_id = ${sessionId}), 0)
    where id = ${sessionId}`.execute(tx);
}

export async function hasWork(tx: Db, sessionId: string): Promise<boolean> {
  if (!isUuid(sessionId)) return false;
  const { rows } = await sql`select 1 from sessions s where s.id = ${sessionId} and ${HAS_WORK}`.execute(tx);
  return rows.length > 0;
}
