// Ends a session: its log, commands and questions go at once. The hosts that may have its files
// keep a note each until they removed them.

import { sql } from 'kysely';
import { isUuid } from '../cursor.js';
import type { Db } from '../database.js';

export async function deleteSession(db: Db, id: string): Promise<boolean> {
  if (!isUuid(id)) return false;
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql`select id from sessions where id = ${id} for update`.execute(tx);
    if (rows.length === 0) return false;
    for (const table of ['events', 'outbox', 'questions', 'attachments']) {
      await sql`delete from ${sql.raw(table)} where session_id = ${id}`.execute(tx);
    }
    await sql`delete from sessions where id = ${id}`.execute(tx);
    return true;
  });
}

export async function deletedSessions(db: Db, hostId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ session_id: string }>`select session_id from session_hosts h
    where host_id = ${hostId} and not exists (select 1 from sessions s where s.id = h.session_id)`.execute(db);
  return rows.map((row) => row.session_id);
}

export async function confirmDeleted(db: Db, hostId: string, sessionId: string): Promise<void> {
  await sql`delete from session_hosts where host_id = ${hostId} and session_id = ${sessionId}`.execute(db);
}
