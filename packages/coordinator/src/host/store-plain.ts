// The short way for events that only go into the log (messages, tool calls, file changes): one
// statement locks the sessions, checks their epochs, gives the indices and stores the rows. An
// event's index follows from its place behind the last stored one, so repeats fall out by themselves.

import { sql } from 'kysely';
import { CoordinatorError } from '../coordinator-error.js';
import type { Db } from '../database.js';
import { toEventRow } from '../event-rows.js';
import type { Incoming } from './fold-events.js';
import type { Append, AppendResult } from './store-batch.js';

/** Kinds that change nothing but the log. A kind that is not listed takes the long way. */
const PLAIN_KINDS = new Set(['agent_message', 'tool_call_started', 'tool_call_completed', 'file_changed', 'notice']);

export function isPlain(append: Append): boolean {
  return append.incoming.length > 0 && append.incoming.every(isPlainEvent) && isContiguous(append.incoming);
}

function isPlainEvent(incoming: Incoming): boolean {
  return incoming.from === 'harness' && PLAIN_KINDS.has(incoming.event.type);
}

function isContiguous(incoming: readonly Incoming[]): boolean {
  const first = toSeq(incoming[0]);
  return incoming.every((each, at) => toSeq(each) === first + at);
}

function toSeq(incoming: Incoming | undefined): number {
  return incoming?.from === 'harness' ? incoming.seq : 0;
}

interface Group {
  readonly sessionId: string;
  readonly epoch: number;
  /** The numbers of this group's events, without holes. */
  readonly first: number;
  readonly last: number;
}

/** Appends of one session that overlap or follow on become one; undefined when they leave a hole. */
export function toGroup(appends: readonly Append[]): Group | undefined {
  const [head, ...rest] = appends;
  if (head === undefined) return undefined;
  let last = toSeq(head.incoming.at(-1));
  const first = toSeq(head.incoming[0]);
  for (const append of rest) {
    const from = toSeq(append.incoming[0]);
    if (append.epoch !== head.epoch || from < first || from > last + 1) return undefined;
    last = Math.max(last, toSeq(append.incoming.at(-1)));
  }
  return { sessionId: head.sessionId, epoch: head.epoch, first, last };
}

interface Locked {
  readonly id: string;
  readonly held: boolean;
  readonly harness_seq: number;
}

/** `groups` and `appends` speak of the same sessions, each session once among the groups. */
export async function storePlain(
  db: Db,
  groups: readonly Group[],
  appends: readonly Append[],
): Promise<ReadonlyMap<string, AppendResult>> {
  const events = new Map<string, ReturnType<typeof toEventRow> & { seq: number }>();
  for (const { sessionId, incoming } of appends) {
    for (const each of incoming) {
      const seq = toSeq(each);
      events.set(`${sessionId} ${seq}`, { ...toEventRow(sessionId, 0, each.event), seq });
    }
  }
  const rows = [...events.values()];
  const { rows: locked } = await sql<Locked>`
    with wanted as (
      select * from unnest(${groups.map((one) => one.sessionId)}::uuid[], ${groups.map((one) => one.epoch)}::bigint[],
        ${groups.map((one) => one.first)}::bigint[], ${groups.map((one) => one.last)}::bigint[])
        as w (session_id, epoch, first_seq, last_seq)
    ), locked as (
      select s.id, s.last_idx, s.harness_seq, w.first_seq, w.last_seq, s.epoch = w.epoch and s.lease_host is not null as held
      from sessions s join wanted w on w.session_id = s.id order by s.id for no key update of s
    ), taken as (
      select * from locked where held and first_seq <= harness_seq + 1 and last_seq > harness_seq
    ), stored as (
      insert into events (session_id, idx, at, kind, data, size)
      select t.id, t.last_idx + r.seq - t.harness_seq, statement_timestamp(), r.kind, r.data::jsonb, octet_length(r.data)
      from unnest(${rows.map((row) => row.sessionId)}::uuid[], ${rows.map((row) => row.seq)}::bigint[],
        ${rows.map((row) => row.kind)}::text[], ${rows.map((row) => row.data)}::text[]) as r (session_id, seq, kind, data)
      join taken t on t.id = r.session_id where r.seq > t.harness_seq
    ), moved as (
      update sessions s set last_idx = t.last_idx + t.last_seq - t.harness_seq, harness_seq = t.last_seq,
        updated_at = case when s.updated_at < clock_timestamp() - interval '1 second' then clock_timestamp() else s.updated_at end
      from taken t where s.id = t.id
    )
    select id, held, harness_seq from locked`.execute(db);
  const found = new Map(locked.map((row) => [row.id, row]));
  return new Map(groups.map((group) => [group.sessionId, toResult(group, found.get(group.sessionId))]));
}

function toResult(group: Group, row: Locked | undefined): AppendResult {
  if (row === undefined || !row.held) return { ok: false, reason: 'stale_epoch' };
  if (group.first > row.harness_seq + 1) return { ok: false, error: sequenceGap(group.sessionId, row.harness_seq + 1) };
  return { ok: true, storedSeq: Math.max(row.harness_seq, group.last) };
}

export function sequenceGap(sessionId: string, missing: number): CoordinatorError {
  return new CoordinatorError(
    'sequence_gap',
    `events of session ${sessionId} do not follow on: number ${missing} is missing`,
  );
}
