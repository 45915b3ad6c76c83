// Files beside a session's log: given with a prompt, or images of a tool's result. The log holds
// references only. Bytes are named by their SHA-256, so putting the same file again is one row and a
// caller may repeat it without harm.

import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { AttachmentInfo, Refusal, StoredAttachment } from '../coordinator.js';
import { isUuid } from '../cursor.js';
import type { Db } from '../database.js';
import { mediaTypeOf } from '../media-type.js';
import type { Attachment } from '../session-events.js';
import { lockSession } from '../session-row.js';

/** As much as the models take as one image. */
export const MAX_ATTACHMENT_BYTES = 5 * 1024 * 1024;
/** All files of one session together. */
export const MAX_SESSION_ATTACHMENT_BYTES = 256 * 1024 * 1024;

const ID = /^[0-9a-f]{64}$/;

export async function putAttachment(
  db: Db,
  sessionId: string,
  bytes: Uint8Array,
): Promise<({ readonly ok: true } & AttachmentInfo) | Refusal<'not_found' | 'too_large' | 'session_full'>> {
  if (bytes.length > MAX_ATTACHMENT_BYTES) return { ok: false, reason: 'too_large' };
  const attachment_id = createHash('sha256').update(bytes).digest('hex');
  const info = { attachment_id, media_type: mediaTypeOf(bytes), size: bytes.length };
  return db.transaction().execute(async (tx) => {
    const session = await lockSession(tx, sessionId);
    if (session === undefined) return { ok: false, reason: 'not_found' };
    const { rows } = await sql<{ total: number; known: boolean }>`
      select coalesce(sum(size), 0)::bigint as total, coalesce(bool_or(id = ${attachment_id}), false) as known
      from attachments where session_id = ${sessionId}`.execute(tx);
    const held = rows[0] ?? { total: 0, known: false };
    if (held.known) return { ok: true, ...info };
    if (held.total + bytes.length > MAX_SESSION_ATTACHMENT_BYTES) return { ok: false, reason: 'session_full' };
    await sql`insert into attachments (session_id, id, media_type, size, bytes)
      values (${sessionId}, ${attachment_id}, ${info.media_type}, ${info.size}, ${Buffer.from(bytes)})`.execute(tx);
    return { ok: true, ...info };
  });
}

export async function readAttachment(db: Db, sessionId: string, id: string): Promise<StoredAttachment | undefined> {
  if (!isUuid(sessionId) || !ID.test(id)) return undefined;
  const { rows } = await sql<StoredAttachment>`select media_type, bytes from attachments
    where session_id = ${sessionId} and id = ${id}`.execute(db);
  return rows[0];
}

/** References with what the store knows of them, in the order given; undefined when one is not there. */
export async function resolveAttachments(
  tx: Db,
  sessionId: string,
  given: readonly { readonly attachment_id: string; readonly name: string }[],
): Promise<readonly Attachment[] | undefined> {
  if (given.length === 0) return [];
  const { rows } = await sql<{ id: string; media_type: string; size: number }>`select id, media_type, size
    from attachments where session_id = ${sessionId} and id = any(${given.map((each) => each.attachment_id)}::text[])`.execute(
    tx,
  );
  const known = new Map(rows.map((row) => [row.id, row]));
  const found: Attachment[] = [];
  for (const { attachment_id, name } of given) {
    const row = known.get(attachment_id);
    if (row === undefined) return undefined;
    found.push({ attachment_id, name, media_type: row.media_type, size: row.size });
  }
  return found;
}
