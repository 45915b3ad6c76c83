// The machines that run sessions: their heartbeat and what they say about themselves. A host that
// comes back as a new process gets its old leases ended at once: nobody else may be holding them.

import { sql } from 'kysely';
import type { HostInfo, HostRow } from '../coordinator.js';
import type { Db } from '../database.js';

/** `instance` is new for each process, so a host's restart is seen whatever its pid. */
export async function heartbeat(
  db: Db,
  host: HostInfo,
  instance: string,
  chunksDropped: number,
): Promise<{ readonly draining: boolean }> {
  return db.transaction().execute(async (tx) => {
    const before = await sql<{
      instance: string;
    }>`select instance from hosts where host_id = ${host.host_id} for update`.execute(tx);
    const { rows } = await sql<{ draining: boolean }>`
      insert into hosts (host_id, instance, name, version, pid, isolation, slots, credentials, demo, claude_version, store_id,
        memory_total, memory_free, chunks_dropped, seen_at)
      values (${host.host_id}, ${instance}, ${host.name}, ${host.version}, ${host.pid}, ${host.isolation}, ${host.slots},
        ${host.credentials}, ${host.demo}, ${host.claude_version ?? null}, ${host.store_id ?? null},
        ${host.memory?.total_bytes ?? null}, ${host.memory?.free_bytes ?? null}, ${chunksDropped}, clock_timestamp())
      on conflict (host_id) do update set instance = excluded.instance, name = excluded.name, version = excluded.version,
        pid = excluded.pid, isolation = excluded.isolation, slots = excluded.slots, credentials = excluded.credentials,
        demo = excluded.demo, claude_version = excluded.claude_version, store_id = excluded.store_id, memory_total = excluded.memory_total,
        memory_free = excluded.memory_free, chunks_dropped = excluded.chunks_dropped, left_at = null, seen_at = excluded.seen_at
      returning draining`.execute(tx);
    const previous = before.rows[0]?.instance;
    if (previous !== undefined && previous !== instance) {
      await sql`update sessions set lease_until = least(lease_until, now()) where lease_host = ${host.host_id}`.execute(
        tx,
      );
    }
    return { draining: rows[0]?.draining ?? false };
  });
}

/** A draining host keeps what it holds and claims no more. False when there is no such host. */
export async function drainHost(db: Db, hostId: string, draining: boolean): Promise<boolean> {
  const { rows } = await sql`update hosts set draining = ${draining} where host_id = ${hostId} returning 1`.execute(db);
  return rows.length > 0;
}

/** The host ends in order and holds nothing any more: nobody waits for it. */
export async function leaveHost(db: Db, hostId: string, instance: string): Promise<void> {
  await sql`update hosts set left_at = clock_timestamp() where host_id = ${hostId} and instance = ${instance}`.execute(
    db,
  );
}

interface StoredHost extends Omit<HostRow, 'claude_version' | 'store_id' | 'memory'> {
  readonly claude_version: string | null;
  readonly store_id: string | null;
  readonly memory_total: number | null;
  readonly memory_free: number | null;
}

export async function listHosts(db: Db): Promise<readonly HostRow[]> {
  const { rows } = await sql<StoredHost>`
    select h.host_id, h.name, h.version, h.pid, h.isolation, h.slots, h.credentials, h.demo, h.claude_version, h.draining,
      h.store_id, h.memory_total, h.memory_free, h.seen_at, h.left_at is null and h.seen_at > now() - interval '15 seconds' as alive,
      (select count(*) from sessions s where s.lease_host = h.host_id and s.lease_until > now()) as sessions,
      (select count(*) from sessions s where s.files_host = h.host_id and not s.files_stored) as files_only_here
    from hosts h order by h.name, h.host_id`.execute(db);
  return rows.map(({ claude_version, store_id, memory_total, memory_free, ...row }) => ({
    ...row,
    ...(claude_version === null ? {} : { claude_version }),
    ...(store_id === null ? {} : { store_id }),
    ...(memory_total === null || memory_free === null
      ? {}
      : { memory: { total_bytes: memory_total, free_bytes: memory_free } }),
  }));
}
