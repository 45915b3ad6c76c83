// Keeps tables that grow with use from growing for ever: what nobody can ask for any more goes, some
// rows at a time, so that no statement holds anybody up. Any host may do it, any number at once.

import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database.js';

const ROWS = 1_000;
/** A prompt that is posted again after this is a new prompt. */
const OUTBOX = sql.raw(`interval '30 days'`);
/** A host that was not seen for this does not come back; one that still has the only copy of files is kept. */
const HOSTS = sql.raw(`interval '30 days'`);

/** Gives how many rows went, by table. */
export async function tidy(db: Db): Promise<Readonly<Record<string, number>>> {
  const remove = async (table: string, where: RawBuilder<unknown>): Promise<number> => {
    const { rows } = await sql`with gone as (
        select t.ctid from ${sql.raw(table)} t where ${where} limit ${ROWS} for update skip locked)
      delete from ${sql.raw(table)} d using gone where d.ctid = gone.ctid returning 1`.execute(db);
    return rows.length;
  };
  return {
    outbox: await remove('outbox', sql`t.retired_at is not null and t.retired_at < now() - ${OUTBOX}`),
    idempotency_keys: await remove('idempotency_keys', sql`t.created_at < now() - interval '24 hours'`),
    login_codes: await remove('login_codes', sql`t.expires_at < now()`),
    browser_sessions: await remove('browser_sessions', sql`t.expires_at < now()`),
    hosts: await remove(
      'hosts',
      sql`t.seen_at < now() - ${HOSTS} and not exists (select 1 from sessions s
        where s.bound_host = t.host_id or s.lease_host = t.host_id or s.files_host = t.host_id and not s.files_stored)`,
    ),
    // Copies on disks of hosts that are gone, and objects in stores that no host uses any more.
    session_hosts: await remove(
      'session_hosts',
      sql`not exists (select 1 from hosts h where h.host_id = t.host_id)
        and not exists (select 1 from sessions s where s.id = t.session_id)`,
    ),
    store_sessions: await remove(
      'store_sessions',
      sql`not exists (select 1 from hosts h where h.store_id = t.store_id)
        and not exists (select 1 from sessions s where s.id = t.session_id)`,
    ),
  };
}
