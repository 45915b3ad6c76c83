// Reads a page of the log behind a cursor, or the one that ends before it. A page is bounded by rows
// and by bytes, so it may be shorter than asked; the tail says whether there is more. One statement,
// so both are of one moment.

import { sql } from 'kysely';
import { isUuid } from '../cursor.js';
import type { Db } from '../database.js';
import { type StoredRow, toStoredEvent } from '../event-rows.js';
import type { StoredEvent } from '../session-events.js';

export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

export async function readEvents(
  db: Db,
  id: string,
  since: number,
  limit: number,
): Promise<{ readonly events: readonly StoredEvent[]; readonly tail: number }> {
  if (!isUuid(id)) return { events: [], tail: 0 };
  type Row = { readonly last_idx: number; readonly idx: number | null } & Omit<StoredRow, 'idx'>;
  const { rows } = await sql<Row>`
    select s.last_idx, e.idx, e.at, e.kind, e.data, e.raw
    from sessions s left join lateral (
      select p.idx, p.at, p.kind, p.data, p.raw, sum(p.size) over (order by p.idx) - p.size as before
      from (select * from events where session_id = s.id and idx > ${since} order by idx limit ${limit}) p
    ) e on e.before < ${MAX_PAGE_BYTES}
    where s.id = ${id} order by e.idx`.execute(db);
  const events = rows.flatMap(({ idx, ...row }) => (idx === null ? [] : [toStoredEvent({ ...row, idx })]));
  return { events, tail: rows[0]?.last_idx ?? 0 };
}

/** The newest events with idx < before, oldest first: a page that ends where the reader's log begins. */
export async function readEventsBefore(
  db: Db,
  id: string,
  before: number,
  limit: number,
): Promise<{ readonly events: readonly StoredEvent[]; readonly tail: number }> {
  if (!isUuid(id)) return { events: [], tail: 0 };
  type Row = { readonly last_idx: number; readonly idx: number | null } & Omit<StoredRow, 'idx'>;
  const { rows } = await sql<Row>`
    select s.last_idx, e.idx, e.at, e.kind, e.data, e.raw
    from sessions s left join lateral (
      select p.idx, p.at, p.kind, p.data, p.raw, sum(p.size) over (order by p.idx desc) - p.size as newer
      from (select * from events where session_id = s.id and idx < ${before} order by idx desc limit ${limit}) p
    ) e on e.newer < ${MAX_PAGE_BYTES}
    where s.id = ${id} order by e.idx`.execute(db);
  const events = rows.flatMap(({ idx, ...row }) => (idx === null ? [] : [toStoredEvent({ ...row, idx })]));
  return { events, tail: rows[0]?.last_idx ?? 0 };
}
