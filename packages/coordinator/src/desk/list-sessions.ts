// Lists what an owner has: sessions by newest activity, open questions oldest first. Cursors are
// opaque; one that is none of ours is refused.

import type { Question } from '@engram/harness-proto';
import { sql } from 'kysely';
import type { Page, PendingQuestion, QuestionState, Refusal, Session } from '../coordinator.js';
import { decodeCursor, encodeCursor } from '../cursor.js';
import type { Db } from '../database.js';
import type { SessionStatus } from '../session-events.js';
import { SESSION_VIEW, type SessionViewRow, toSession } from '../session-view.js';

export interface SessionQuery {
  readonly owner: string;
  readonly status?: SessionStatus;
  readonly awaiting?: boolean;
  readonly cursor?: string;
  readonly limit: number;
}

export async function listSessions(db: Db, query: SessionQuery): Promise<Page<Session> | Refusal<'invalid_cursor'>> {
  const cursor = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  if (query.cursor !== undefined && cursor === undefined) return { ok: false, reason: 'invalid_cursor' };
  const conditions = [sql`s.owner_id = ${query.owner}`];
  if (query.status !== undefined) conditions.push(sql`s.status = ${query.status}`);
  if (query.awaiting === true) {
    conditions.push(
      sql`exists (select 1 from questions q where q.session_id = s.id and q.state in ('waiting', 'sent', 'failed'))`,
    );
  }
  if (query.awaiting === false) conditions.push(sql`not exists (select 1 from asking a where a.session_id = s.id)`);
  if (cursor !== undefined) {
    conditions.push(sql`(s.updated_at, s.id) < (${toTime(cursor.atMs)}, ${cursor.id}::uuid)`);
  }
  // Read once and compared as a whole: asked for each session, ten thousand that wait are ten thousand look-ups.
  const asking =
    query.awaiting === false
      ? sql`with asking as materialized (select q.session_id from questions q
          where q.owner_id = ${query.owner} and q.state in ('waiting', 'sent', 'failed'))`
      : sql``;
  const { rows } = await sql<SessionViewRow>`${asking} select ${SESSION_VIEW} from sessions s
    where ${sql.join(conditions, sql` and `)}
    order by s.updated_at desc, s.id desc limit ${query.limit + 1}`.execute(db);
  return toPage(rows, query.limit, toSession, (row) => ({ atMs: Date.parse(row.updated_at), id: row.id }));
}

interface PendingRow {
  readonly session_id: string;
  readonly session_title: string;
  readonly tool_call_id: string;
  readonly questions: readonly Question[];
  readonly asked_at: string;
  readonly state: QuestionState;
}

export async function listPendingQuestions(
  db: Db,
  query: { readonly owner: string; readonly cursor?: string; readonly limit: number },
): Promise<Page<PendingQuestion> | Refusal<'invalid_cursor'>> {
  const cursor = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  if (query.cursor !== undefined && cursor?.more === undefined) return { ok: false, reason: 'invalid_cursor' };
  const behind =
    cursor?.more === undefined
      ? sql`true`
      : sql`(q.asked_at, q.session_id, q.tool_call_id) > (${toTime(cursor.atMs)}, ${cursor.id}::uuid, ${cursor.more})`;
  const { rows } = await sql<PendingRow>`
    select q.session_id, s.title as session_title, q.tool_call_id, q.questions, q.asked_at, q.state
    from questions q join sessions s on s.id = q.session_id
    where q.owner_id = ${query.owner} and q.state in ('waiting', 'sent', 'failed') and ${behind}
    order by q.asked_at, q.session_id, q.tool_call_id limit ${query.limit + 1}`.execute(db);
  return toPage(
    rows,
    query.limit,
    (row) => row,
    (row) => ({ atMs: Date.parse(row.asked_at), id: row.session_id, more: row.tool_call_id }),
  );
}

function toTime(atMs: number) {
  return sql`('epoch'::timestamptz + make_interval(secs => ${atMs}::float8 / 1000))::timestamptz(3)`;
}

/** One row more than the page was read: it says that there is a next page. */
function toPage<R, T>(
  rows: readonly R[],
  limit: number,
  toItem: (row: R) => T,
  toCursor: (row: R) => Parameters<typeof encodeCursor>[0],
): Page<T> {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const items = page.map(toItem);
  return rows.length > limit && last !== undefined ? { items, nextCursor: encodeCursor(toCursor(last)) } : { items };
}
