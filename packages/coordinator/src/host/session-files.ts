// Where a session's newest files are: on the host that ran it last, and in a store once that host put
// them there. The list of files that counts is the one named here, set under the lease's epoch: a host
// that lost its lease may write into a store, and nothing comes of it.

import { sql } from 'kysely';
import type { ClaimedFiles, Outcome } from '../coordinator.js';
import type { Db } from '../database.js';
import { lockLeasedSession } from '../session-row.js';

/** The columns of a FilesRow, for table alias `s`. */
export const FILES_COLUMNS = sql.raw('s.files_host, s.files_stored, s.files_store, s.files_manifest');

export interface FilesRow {
  readonly files_host: string | null;
  readonly files_stored: boolean;
  readonly files_store: string | null;
  readonly files_manifest: string | null;
}

/** `row` as it was before the claim. Nobody but the last host has run the session since. */
export function toClaimedFiles(row: FilesRow, hostId: string, storeId: string | null): ClaimedFiles {
  const { files_host, files_store, files_manifest } = row;
  return {
    newestHere: files_host === null || files_host === hostId,
    lost: isLost(row, hostId),
    stored: row.files_stored,
    ...(files_manifest === null || files_store !== storeId ? {} : { manifest: files_manifest }),
  };
}

/** The newest files are on another host and nowhere else, and that host is not there. */
export function isLost({ files_host, files_stored }: FilesRow, hostId: string): boolean {
  return files_host !== null && files_host !== hostId && !files_stored;
}

/** From here on the agent may change files: they are newest on the host that holds the lease. */
export async function takeFiles(tx: Db, sessionId: string): Promise<void> {
  await sql`update sessions set files_host = lease_host
    where id = ${sessionId} and files_host is distinct from lease_host`.execute(tx);
}

/** A run that is open, or opened since, makes what was stored older than what is on the host. */
export async function commitFiles(
  db: Db,
  sessionId: string,
  epoch: number,
  files: { readonly storeId: string; readonly manifest: string },
): Promise<Outcome<'stale_epoch'>> {
  return db.transaction().execute(async (tx): Promise<Outcome<'stale_epoch'>> => {
    const session = await lockLeasedSession(tx, sessionId, epoch);
    if (session === undefined) return { ok: false, reason: 'stale_epoch' };
    await sql`with noted as (
        insert into store_sessions (session_id, store_id) values (${sessionId}, ${files.storeId}) on conflict do nothing)
      update sessions set files_host = lease_host, files_store = ${files.storeId}, files_manifest = ${files.manifest},
        files_seq = harness_seq, files_at = clock_timestamp(), files_stored = open_run is null,
        bound_host = case when workspace->>'kind' = 'path' then bound_host end
      where id = ${sessionId}`.execute(tx);
    return { ok: true };
  });
}

/** The store did not take the files and the host goes: the session waits for this host. */
export async function keepFilesHere(db: Db, sessionId: string, epoch: number): Promise<Outcome<'stale_epoch'>> {
  return db.transaction().execute(async (tx): Promise<Outcome<'stale_epoch'>> => {
    const session = await lockLeasedSession(tx, sessionId, epoch);
    if (session === undefined) return { ok: false, reason: 'stale_epoch' };
    await sql`update sessions set bound_host = lease_host where id = ${sessionId}`.execute(tx);
    return { ok: true };
  });
}

const COPY_KEPT = sql.raw(`interval '1 day'`);

/** Sessions that went on elsewhere a while ago and whose files are in a store: the copy here only takes room. */
export async function staleCopies(db: Db, hostId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ session_id: string }>`select h.session_id from session_hosts h
    join sessions s on s.id = h.session_id
    where h.host_id = ${hostId} and s.files_host <> ${hostId} and s.lease_host is distinct from ${hostId}
      and s.files_stored and s.files_at < now() - ${COPY_KEPT} limit 50`.execute(db);
  return rows.map((row) => row.session_id);
}

/** Unless the session came back meanwhile. */
export async function forgetCopy(db: Db, hostId: string, sessionId: string): Promise<void> {
  await sql`delete from session_hosts where host_id = ${hostId} and session_id = ${sessionId}
    and not exists (select 1 from sessions s where s.id = ${sessionId} and (s.lease_host = ${hostId} or s.files_host = ${hostId}))`.execute(
    db,
  );
}

/** Deleted sessions of which a store may still have objects. */
export async function deletedInStore(db: Db, storeId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ session_id: string }>`select session_id from store_sessions t
    where store_id = ${storeId} and not exists (select 1 from sessions s where s.id = t.session_id) limit 100`.execute(
    db,
  );
  return rows.map((row) => row.session_id);
}

export async function confirmDeletedInStore(db: Db, storeId: string, sessionId: string): Promise<void> {
  await sql`delete from store_sessions where store_id = ${storeId} and session_id = ${sessionId}`.execute(db);
}
