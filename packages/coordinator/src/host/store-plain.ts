// The short way for events that only go into the log (messages, tool calls, file changes): one
// statement locks the sessions, checks their epochs, gives the indices and stores the rows. An
// event's index follows from its place behind the last stored one, so repeats fall out by themselves.
// The events travel as one JSON array, which costs both sides less than an array of texts.

import { CoordinatorError } from '../coordinator-error.js';
import type { Prepared } from '../database.js';
import { toEventRow } from '../event-rows.js';
import type { Incoming } from './fold-events.js';
import type { AppendResult, ReadyAppend } from './store-batch.js';

/** Kinds that change nothing but the log. A kind that is not listed takes the long way. */
const PLAIN_KINDS = new Set([
  'agent_message',
  'agent_thought',
  'tool_call_started',
  'tool_call_completed',
  'file_changed',
  'notice',
]);

export interface PlainText {
  readonly seq: number;
  readonly kind: string;
  /** Fit for a jsonb column, and bounded. */
  readonly data: string;
  readonly bytes: number;
}

/** Undefined when one of them does more than go into the log, or their numbers do not follow on. */
export function toPlainTexts(incoming: readonly Incoming[]): readonly PlainText[] | undefined {
  if (incoming.length === 0) return undefined;
  const first = toSeq(incoming[0]);
  if (!incoming.every((each, at) => isPlainEvent(each) && toSeq(each) === first + at)) return undefined;
  return incoming.map((each) => {
    const { kind, data } = toEventRow('', 0, each.event);
    return { seq: toSeq(each), kind, data, bytes: Buffer.byteLength(data) };
  });
}

function isPlainEvent(incoming: Incoming): boolean {
  return incoming.from === 'harness' && PLAIN_KINDS.has(incoming.event.type);
}

function toSeq(incoming: Incoming | undefined): number {
  return incoming?.from === 'harness' ? incoming.seq : 0;
}

interface Group {
  readonly sessionId: string;
  readonly epoch: number;
  /** Without holes and repeats. */
  readonly texts: readonly PlainText[];
}

/** Appends of one session that overlap or follow on become one; undefined when they cannot. */
export function toGroup(appends: readonly Pick<ReadyAppend, 'sessionId' | 'epoch' | 'texts'>[]): Group | undefined {
  const [head, ...rest] = appends;
  const texts = [...(head?.texts ?? [])];
  const first = texts[0]?.seq;
  if (head === undefined || first === undefined) return undefined;
  for (const append of rest) {
    const from = append.texts?.[0]?.seq;
    const next = first + texts.length;
    if (append.texts === undefined || append.epoch !== head.epoch) return undefined;
    if (from === undefined || from < first || from > next) return undefined;
    texts.push(...append.texts.slice(next - from));
  }
  return { sessionId: head.sessionId, epoch: head.epoch, texts };
}

const STORE = `
  with wanted as (
    select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[])
      with ordinality as w (session_id, epoch, first_seq, last_seq, slot)
  ), locked as (
    select s.id, s.last_idx, s.harness_seq, w.slot, w.first_seq, w.last_seq, s.epoch = w.epoch and s.lease_host is not null as held
    from sessions s join wanted w on w.session_id = s.id order by s.id for no key update of s
  ), taken as (
    select * from locked where held and first_seq <= harness_seq + 1 and last_seq > harness_seq
  ), stored as (
    insert into events (session_id, idx, at, kind, data, size)
    select t.id, t.last_idx + r.seq - t.harness_seq, statement_timestamp(), r.kind, r.data, r.size
    from rows from (unnest($5::bigint[]), unnest($6::bigint[]), unnest($7::text[]), unnest($8::integer[]),
      jsonb_array_elements($9::jsonb)) as r (slot, seq, kind, size, data)
    join taken t on t.slot = r.slot where r.seq > t.harness_seq
  ), moved as (
    update sessions s set last_idx = t.last_idx + t.last_seq - t.harness_seq, harness_seq = t.last_seq,
      updated_at = case when s.updated_at < clock_timestamp() - interval '1 second' then clock_timestamp() else s.updated_at end
    from taken t where s.id = t.id
  )
  select slot, held, harness_seq from locked`;

/** Many rows are worth a plan of their own. */
const FEW_ROWS = 64;

interface Locked {
  readonly slot: number;
  readonly held: boolean;
  readonly harness_seq: number;
}

/** Each session once among the groups. */
export async function storePlain(
  prepared: Prepared,
  groups: readonly Group[],
): Promise<ReadonlyMap<string, AppendResult>> {
  const rows = groups.flatMap(({ texts }, at) => texts.map((text) => ({ ...text, slot: at + 1 })));
  const locked = await prepared<Locked>(rows.length <= FEW_ROWS ? 'store_plain' : '', STORE, [
    toArray(groups.map((group) => group.sessionId)),
    toArray(groups.map((group) => group.epoch)),
    toArray(groups.map(firstSeq)),
    toArray(groups.map(lastSeq)),
    toArray(rows.map((row) => row.slot)),
    toArray(rows.map((row) => row.seq)),
    toArray(rows.map((row) => row.kind)),
    toArray(rows.map((row) => row.bytes)),
    `[${rows.map((row) => row.data).join(',')}]`,
  ]);
  const found = new Map(locked.map((row) => [row.slot, row]));
  return new Map(groups.map((group, at) => [group.sessionId, toResult(group, found.get(at + 1))]));
}

/** Numbers, uuids and our own kinds: nothing in them needs quotes. */
function toArray(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`;
}

function firstSeq({ texts }: Group): number {
  return texts[0]?.seq ?? 0;
}

function lastSeq({ texts }: Group): number {
  return texts.at(-1)?.seq ?? 0;
}

function toResult(group: Group, row: Locked | undefined): AppendResult {
  if (row === undefined || !row.held) return { ok: false, reason: 'stale_epoch' };
  if (firstSeq(group) > row.harness_seq + 1) {
    return { ok: false, error: sequenceGap(group.sessionId, row.harness_seq + 1) };
  }
  return { ok: true, storedSeq: Math.max(row.harness_seq, lastSeq(group)) };
}

export function sequenceGap(sessionId: string, missing: number): CoordinatorError {
  return new CoordinatorError(
    'sequence_gap',
    `events of session ${sessionId} do not follow on: number ${missing} is missing`,
  );
}
