// Commands accepted and not yet proven done. A row is put in by the transaction that accepts it
// and retired only by the event that proves its effect (see fold-events.ts). Oldest first. The files of
// a prompt stand beside its command in the row: the wire does not know them, the host does.

import { type HarnessCommand, startSpan } from '@engram/harness-proto';
import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import type { OutboxCommand } from './coordinator.js';
import { isUuid } from './cursor.js';
import type { Db } from './database.js';
import { toJsonText } from './payload.js';
import type { Attachment } from './session-events.js';

export type OutboxKind = 'prompt' | 'edit' | 'dequeue' | 'answer' | 'dismiss' | 'interrupt';

export interface NewOutboxRow {
  readonly kind: OutboxKind;
  /** The prompt or the tool call it is about; '' for an interrupt. */
  readonly ref: string;
  readonly command: HarnessCommand;
  readonly attachments?: readonly Attachment[];
  /** Whether a sleeping session wakes for it. */
  readonly wakes: boolean;
}

/** The session's row is locked. */
export async function putCommand(tx: Db, sessionId: string, row: NewOutboxRow): Promise<void> {
  await sql`with moved as (update sessions set wish_version = wish_version + 1 where id = ${sessionId})
    insert into outbox (session_id, kind, ref, command, wakes, accepted_at)
    values (${sessionId}, ${row.kind}, ${row.ref}, ${commandText(sessionId, row)}::jsonb, ${row.wakes}, clock_timestamp())`.execute(
    tx,
  );
}

/** As it stands in its row. For a statement that puts the row in and moves the session's `wish_version` itself. */
export function commandText(sessionId: string, row: NewOutboxRow): string {
  const span = startSpan(`accept ${row.kind}`, { kind: 'producer', attributes: { 'engram.session_id': sessionId } });
  span?.end();
  return toJsonText(toStored(row, span?.traceParent));
}

/** What the wire does not know, and a release that does not know a field leaves out, stands beside the command. */
function toStored({ command, attachments = [] }: NewOutboxRow, trace_parent: string | undefined): object {
  return {
    ...command,
    ...(attachments.length === 0 ? {} : { attachments }),
    ...(trace_parent === undefined ? {} : { trace_parent }),
  };
}

export interface Retirement {
  readonly sessionId: string;
  readonly kind: OutboxKind;
  /** Undefined: every row of the kind. */
  readonly ref?: string;
  /** Only the oldest such row: one proof for one command. */
  readonly oldestOnly?: boolean;
}

export async function retireCommands(tx: Db, retirements: readonly Retirement[]): Promise<void> {
  const all = retirements.filter((each) => each.oldestOnly !== true);
  if (all.length > 0) {
    await sql`update outbox o set retired_at = clock_timestamp()
      from unnest(${all.map((each) => each.sessionId)}::uuid[], ${all.map((each) => each.kind)}::text[],
        ${all.map((each) => each.ref ?? null)}::text[]) as proven (session_id, kind, ref)
      where o.session_id = proven.session_id and o.kind = proven.kind and o.retired_at is null
        and (proven.ref is null or o.ref = proven.ref)`.execute(tx);
  }
  for (const each of retirements.filter((one) => one.oldestOnly === true)) {
    await sql`update outbox set retired_at = clock_timestamp() where id = (
      select min(id) from outbox where session_id = ${each.sessionId} and kind = ${each.kind}
        and retired_at is null and ref = ${each.ref ?? ''})`.execute(tx);
  }
}

/** The harness has these prompts in its own queue. They are not done: that queue is not the log. */
export async function markSeen(tx: Db, prompts: readonly { sessionId: string; promptId: string }[]): Promise<void> {
  if (prompts.length === 0) return;
  await sql`update outbox o set seen_at = clock_timestamp()
    from unnest(${prompts.map((each) => each.sessionId)}::uuid[], ${prompts.map((each) => each.promptId)}::text[])
      as seen (session_id, ref)
    where o.session_id = seen.session_id and o.kind = 'prompt' and o.ref = seen.ref and o.retired_at is null`.execute(
    tx,
  );
}

/** The new texts of edits that no event has proved yet, oldest first. */
export async function readOwedEdits(
  tx: Db,
  prompts: readonly { sessionId: string; promptId: string }[],
): Promise<readonly { readonly session_id: string; readonly ref: string; readonly text: string }[]> {
  if (prompts.length === 0) return [];
  const { rows } = await sql<{ session_id: string; ref: string; text: string }>`
    select o.session_id, o.ref, o.command->>'text' as text from outbox o
    where o.kind = 'edit' and o.retired_at is null and (o.session_id, o.ref) in (
      select * from unnest(${prompts.map((each) => each.sessionId)}::uuid[], ${prompts.map((each) => each.promptId)}::text[]))
    order by o.id`.execute(tx);
  return rows;
}

/**
 * The rows of table alias `o` that give a sleeping session a reason to wake. A prompt that the
 * harness already queued behind a question waits for the question, not for a process.
 */
export const WAKING: RawBuilder<unknown> = sql.raw(`(o.retired_at is null and o.wakes and not (
  o.kind = 'prompt' and o.seen_at is not null and exists (
    select 1 from questions q where q.session_id = o.session_id and q.state in ('waiting', 'failed'))))`);

const commandSchema = z.custom<HarnessCommand>(
  (value) => typeof value === 'object' && value !== null && 'type' in value,
);

interface HandedRow {
  readonly id: number | null;
  readonly command: unknown;
  readonly attachments: readonly Attachment[] | null;
}

/**
 * Hands the owed commands above `after` to the host that holds the session with this epoch, and remembers that it
 * did: from then on the harness may know them. Undefined when another holds it. One statement: it is on the way of
 * every answer. A command put in while it waited for the session's row comes with the next hint; one that was
 * withdrawn or changed meanwhile is not handed, or as it is now, because rows that are written are looked at anew.
 */
export async function handCommands(
  tx: Db,
  sessionId: string,
  epoch: number,
  after: number,
): Promise<readonly OutboxCommand[] | undefined> {
  if (!isUuid(sessionId)) return undefined;
  const { rows } = await sql<HandedRow>`
    with held as (
      select id from sessions where id = ${sessionId} and epoch = ${epoch} and lease_host is not null for no key update
    ), handed as (
      update outbox o set handed_at = coalesce(o.handed_at, clock_timestamp()) from held
      where o.session_id = held.id and o.retired_at is null and o.id > ${after}
      returning o.id, o.command - 'attachments' as command, o.command->'attachments' as attachments
    )
    select handed.* from held left join handed on true order by handed.id`.execute(tx);
  if (rows.length === 0) return undefined;
  return rows.flatMap(({ id, command, attachments }): OutboxCommand[] =>
    id === null
      ? []
      : [{ outboxId: id, command: commandSchema.parse(command), ...(attachments === null ? {} : { attachments }) }],
  );
}
