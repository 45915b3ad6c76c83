// Reads a page of the log as the API shows it, behind a cursor or up to one. Bounded as the pages of
// read-events.ts; asked often, so its statements are prepared.

import { isUuid } from '../cursor.js';
import type { Prepared } from '../database.js';
import { hasEvent, TEXT_COLUMNS, toEventText } from '../event-text.js';
import type { EventText } from '../session-events.js';
import { MAX_PAGE_BYTES } from './read-events.js';

/** `since`: idx > since, the oldest of them. `before`: idx < before, the newest of them. */
export type PageEdge = { readonly since: number } | { readonly before: number };

export interface TextPage {
  /** Oldest first. */
  readonly events: readonly EventText[];
  /** The newest idx of the session at that moment; 0 when there is no such session. */
  readonly tail: number;
}

const pageOf = (edge: 'idx >' | 'idx <', order: 'asc' | 'desc') => `
  select s.last_idx, ${TEXT_COLUMNS}
  from sessions s left join lateral (
    select p.*, sum(p.size) over (order by p.idx ${order}) - p.size as nearer
    from (select * from events where session_id = s.id and ${edge} $2 order by idx ${order} limit $3) p
  ) e on e.nearer < ${MAX_PAGE_BYTES}
  where s.id = $1`;
const SINCE = pageOf('idx >', 'asc');
const BEFORE = pageOf('idx <', 'desc');

export async function readEventTexts(prepared: Prepared, id: string, edge: PageEdge, limit: number): Promise<TextPage> {
  if (!isUuid(id)) return { events: [], tail: 0 };
  type Row = { readonly last_idx: number; readonly idx: number | null };
  const rows =
    'since' in edge
      ? await prepared<Row>('texts_since', SINCE, [id, edge.since, limit])
      : await prepared<Row>('texts_before', BEFORE, [id, edge.before, limit]);
  // Sorted here: they come in order as a rule, and the database would carry every text through its sort.
  const found = rows.filter(hasEvent).sort((a, b) => a.idx - b.idx);
  const events = found.map(toEventText);
  return { events, tail: rows[0]?.last_idx ?? 0 };
}
