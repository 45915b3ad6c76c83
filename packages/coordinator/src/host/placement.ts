// Which of the sessions with work a host may take, as a condition in SQL. Files decide first: a
// session goes where its newest files are, or to any host that shares the store they are in. Among
// those that could, a host with room leaves a session alone for a moment when another one suits it
// better: that one has its files already, or less to do. Nobody waits for a host that does not come.

import { type RawBuilder, sql } from 'kysely';

/** How long the host that suits best is waited for. */
const HEAD_START_MS = 2_000;
/** A host that was not seen for so long does not come at once. */
const FRESH_MS = 8_000;

const secs = (ms: number): RawBuilder<unknown> => sql`make_interval(secs => ${ms / 1000})`;

/** For `with`: this host, and the others that could take work now. */
export function placementTables(hostId: string): RawBuilder<unknown> {
  const load = sql.raw(
    `(select count(*) from sessions held where held.lease_host = h.host_id and held.lease_until > now())`,
  );
  return sql`me as (
      select max(h.store_id) as store_id, coalesce(max(${load} * 1.0 / greatest(h.slots, 1)), 0) as load
      from hosts h where h.host_id = ${hostId}),
    peers as (
      select p.* from (select h.host_id, h.store_id, h.slots, ${load} as held from hosts h
        where h.host_id <> ${hostId} and not h.draining and h.left_at is null
          and h.seen_at > now() - ${secs(FRESH_MS)}) p
      where p.held < p.slots)`;
}

/** For table alias `s`, with the tables above. */
export function mayTake(hostId: string, leaseMs: number): RawBuilder<unknown> {
  return sql`(s.bound_host is null or s.bound_host = ${hostId})
    and (s.files_host is null or s.files_host = ${hostId}
      or s.files_stored and (s.files_manifest is null or s.files_store = (select store_id from me))
      or not s.files_stored and (s.files_manifest is null or s.files_store = (select store_id from me))
        and not exists (select 1 from hosts h where h.host_id = s.files_host and h.seen_at > now() - ${secs(leaseMs)}))
    and not (
      coalesce((select min(o.accepted_at) from outbox o where o.session_id = s.id and o.retired_at is null and o.wakes)
        > clock_timestamp() - ${secs(HEAD_START_MS)}, false)
      and case when s.files_host = ${hostId} then false
        when exists (select 1 from peers p where p.host_id = s.files_host) then true
        else exists (select 1 from peers p where p.held * 1.0 / p.slots < (select load from me)
          and (s.files_manifest is null or p.store_id = s.files_store)) end)`;
}

/** With others about, work is taken in small portions, so that a burst is shared. */
export const PORTION = 2;
