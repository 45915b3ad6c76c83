// An event as a row and back. The kind is a column of its own, its fields are jsonb, the body of
// an event that a newer harness sent is kept as bytes: no kind ever needs a migration.

import type { HarnessEvent } from '@engram/harness-proto';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from './database.js';
import { toJsonText } from './payload.js';
import type { CoordinatorEvent, ForeignEvent, StoredEvent } from './session-events.js';

export type StorableEvent = CoordinatorEvent | HarnessEvent | ForeignEvent;

export interface EventRow {
  readonly sessionId: string;
  readonly idx: number;
  readonly kind: string;
  readonly data: string;
  readonly raw: Uint8Array | null;
}

export function toEventRow(sessionId: string, idx: number, event: StorableEvent): EventRow {
  const { type, ...fields } = event;
  if (type === 'unknown' && 'bytes' in fields && fields.bytes instanceof Uint8Array) {
    const { bytes, ...rest } = fields;
    return { sessionId, idx, kind: type, data: toJsonText(rest), raw: bytes };
  }
  return { sessionId, idx, kind: type, data: toJsonText(fields), raw: null };
}

/** The session's row is locked and its `last_idx` will be moved in the same transaction. */
export async function insertEventRows(tx: Db, rows: readonly EventRow[]): Promise<void> {
  if (rows.length > 0) await eventInsert(rows).execute(tx);
}

/** The same as a statement, or as part of one. */
export function eventInsert(rows: readonly EventRow[]): RawBuilder<unknown> {
  const sessions = rows.map((row) => row.sessionId);
  const indices = rows.map((row) => row.idx);
  const kinds = rows.map((row) => row.kind);
  const data = rows.map((row) => row.data);
  if (rows.every((row) => row.raw === null)) {
    return sql`insert into events (session_id, idx, at, kind, data, size)
      select s, i, statement_timestamp(), k, d::jsonb, octet_length(d)
      from unnest(${sessions}::uuid[], ${indices}::bigint[], ${kinds}::text[], ${data}::text[]) as rows (s, i, k, d)`;
  }
  const raw = rows.map((row) => (row.raw === null ? null : Buffer.from(row.raw)));
  return sql`insert into events (session_id, idx, at, kind, data, raw, size)
    select s, i, statement_timestamp(), k, d::jsonb, r, octet_length(d) + coalesce(octet_length(r), 0)
    from unnest(${sessions}::uuid[], ${indices}::bigint[], ${kinds}::text[], ${data}::text[], ${raw}::bytea[])
      as rows (s, i, k, d, r)`;
}

export interface StoredRow {
  readonly idx: number;
  readonly at: string;
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly raw: Buffer | null;
}

export function toStoredEvent(row: StoredRow): StoredEvent {
  const bytes = row.raw === null ? {} : { bytes: row.raw.toString('base64') };
  return { idx: row.idx, at: row.at, event: { type: row.kind, ...row.data, ...bytes } };
}
