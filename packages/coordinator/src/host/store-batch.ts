// Stores one flush: the events of any number of sessions, with a fixed number of statements. What
// only goes into the log takes the short way (store-plain.ts); the rest is folded in a transaction. The sessions' rows are locked first, so the epoch that is checked is the epoch
// under which the indices are given. A session that is refused does not hold up the others.

import { sql } from 'kysely';
import type { AppendOutcome } from '../coordinator.js';
import type { CoordinatorError } from '../coordinator-error.js';
import type { Db, Prepared } from '../database.js';
import { insertEventRows } from '../event-rows.js';
import { markSeen, readOwedEdits, retireCommands } from '../outbox.js';
import { readQuestions, storeQuestionChange } from '../questions.js';
import { holdsLease, type LockedSession, lockSessions } from '../session-row.js';
import { editedPrompts, type Folded, foldEvents, type Incoming, questionKeys } from './fold-events.js';
import { endRedo } from './rewind.js';
import { type PlainText, sequenceGap, storePlain, toGroup, toPlainTexts } from './store-plain.js';

export interface Append {
  readonly sessionId: string;
  readonly epoch: number;
  readonly incoming: readonly Incoming[];
}

/** Made ready while it waits: the texts of its events when they only go into the log. */
export interface ReadyAppend extends Append {
  readonly texts: readonly PlainText[] | undefined;
  /** For what only goes into the log; other events are few and small. */
  readonly bytes: number;
}

export function toReady({ sessionId, epoch, incoming }: Append): ReadyAppend {
  const texts = toPlainTexts(incoming);
  return { sessionId, epoch, incoming, texts, bytes: texts?.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0 };
}

/** One result per append, in order; a refused or impossible append is an outcome of its own. */
export type AppendResult = AppendOutcome | { readonly ok: false; readonly error: CoordinatorError };

/** Sessions whose appends only go into the log take the short way, all others the long one. */
export async function storeBatch(
  db: Db,
  prepared: Prepared,
  appends: readonly ReadyAppend[],
): Promise<readonly AppendResult[]> {
  const bySession = new Map<string, ReadyAppend[]>();
  for (const append of appends) {
    const known = bySession.get(append.sessionId);
    if (known === undefined) bySession.set(append.sessionId, [append]);
    else known.push(append);
  }
  const groups = [...bySession.values()].flatMap((own) => toGroup(own) ?? []);
  const plain = new Set(groups.map((group) => group.sessionId));
  const long = appends.filter((one) => !plain.has(one.sessionId));
  const stored = groups.length === 0 ? new Map<string, AppendResult>() : await storePlain(prepared, groups);
  const folded = new Map<Append, AppendResult>();
  if (long.length > 0) {
    const results = await storeFolded(db, long);
    long.forEach((append, at) => {
      const result = results[at];
      if (result !== undefined) folded.set(append, result);
    });
  }
  return appends.map(
    (append) => folded.get(append) ?? stored.get(append.sessionId) ?? { ok: false, reason: 'stale_epoch' },
  );
}

async function storeFolded(db: Db, appends: readonly Append[]): Promise<readonly AppendResult[]> {
  const ids = [...new Set(appends.map((append) => append.sessionId))];
  return db.transaction().execute(async (tx) => {
    const sessions = new Map((await lockSessions(tx, ids)).map((session) => [session.id, session]));
    const current = appends.filter((append) => isCurrent(sessions.get(append.sessionId), append.epoch));
    const keys = current.flatMap(({ sessionId, incoming }) =>
      questionKeys(incoming).map((toolCallId) => ({ sessionId, toolCallId })),
    );
    const questions = await readQuestions(tx, keys);
    const edits = await readOwedEdits(
      tx,
      current.flatMap(({ sessionId, incoming }) =>
        editedPrompts(incoming).map((promptId) => ({ sessionId, promptId })),
      ),
    );

    const folded = new Map<string, Folded>();
    for (const id of ids) {
      const session = sessions.get(id);
      const incoming = current.filter((append) => append.sessionId === id).flatMap((append) => append.incoming);
      if (session === undefined || incoming.length === 0) continue;
      const known = questions.filter((question) => question.session_id === id);
      folded.set(id, foldEvents({ ...toFacts(session), editedTexts: textsOf(edits, id) }, known, incoming));
    }
    await writeFolded(tx, [...folded.values()]);

    return appends.map((append): AppendResult => {
      const session = sessions.get(append.sessionId);
      if (session === undefined || !holdsLease(session, append.epoch)) return { ok: false, reason: 'stale_epoch' };
      const result = folded.get(append.sessionId);
      const storedSeq = result?.session.harnessSeq ?? session.harness_seq;
      const { gapAt } = result ?? {};
      const missing = append.incoming.some((each) => each.from === 'harness' && each.seq > storedSeq);
      if (gapAt === undefined || !missing) return { ok: true, storedSeq };
      return { ok: false, error: sequenceGap(append.sessionId, gapAt) };
    });
  });
}

function textsOf(edits: Awaited<ReturnType<typeof readOwedEdits>>, id: string): ReadonlyMap<string, readonly string[]> {
  const texts = new Map<string, string[]>();
  for (const { session_id, ref, text } of edits) {
    if (session_id === id) texts.set(ref, [...(texts.get(ref) ?? []), text]);
  }
  return texts;
}

function isCurrent(session: LockedSession | undefined, epoch: number): boolean {
  return session !== undefined && holdsLease(session, epoch);
}

function toFacts(session: LockedSession): Parameters<typeof foldEvents>[0] {
  return {
    id: session.id,
    ownerId: session.owner_id,
    lastIdx: session.last_idx,
    harnessSeq: session.harness_seq,
    openRun: session.open_run,
  };
}

async function writeFolded(tx: Db, all: readonly Folded[]): Promise<void> {
  const changed = all.filter((one) => one.rows.length > 0 || one.questions.length > 0 || one.retirements.length > 0);
  const moved = all.filter((one) => !changed.includes(one));
  if (changed.length + moved.length === 0) return;
  await insertEventRows(
    tx,
    changed.flatMap((one) => one.rows),
  );
  await moveSessions(tx, all);
  await retireCommands(
    tx,
    changed.flatMap((one) => one.retirements),
  );
  const heard = changed.flatMap((one) => one.retirements.filter(({ kind }) => kind === 'answer' || kind === 'dismiss'));
  await endRedo(
    tx,
    heard.map(({ sessionId, ref = '' }) => ({ sessionId, toolCallId: ref })),
  );
  await markSeen(
    tx,
    changed.flatMap((one) => one.seenPrompts),
  );
  for (const change of changed.flatMap((one) => one.questions)) await storeQuestionChange(tx, change);
}

/** Activity is kept to the second: a column that moves with each event would move its index too. */
async function moveSessions(tx: Db, all: readonly Folded[]): Promise<void> {
  const column = (
    pick: (one: Folded) => string | number | boolean | null,
  ): readonly (string | number | boolean | null)[] => all.map(pick);
  await sql`update sessions s set last_idx = n.last_idx, harness_seq = n.harness_seq, open_run = n.open_run,
      files_stored = s.files_stored and not n.ran,
      input_tokens = s.input_tokens + n.input_tokens, output_tokens = s.output_tokens + n.output_tokens,
      cache_read_tokens = s.cache_read_tokens + n.cache_read_tokens,
      cache_write_tokens = s.cache_write_tokens + n.cache_write_tokens,
      cost_micro_usd = s.cost_micro_usd + n.cost_micro_usd,
      updated_at = case when s.updated_at < clock_timestamp() - interval '1 second' then clock_timestamp() else s.updated_at end
    from unnest(${column((one) => one.session.id)}::uuid[], ${column((one) => one.session.lastIdx)}::bigint[],
      ${column((one) => one.session.harnessSeq)}::bigint[], ${column((one) => one.session.openRun)}::text[],
      ${column((one) => one.usage.input_tokens)}::bigint[], ${column((one) => one.usage.output_tokens)}::bigint[],
      ${column((one) => one.usage.cache_read_tokens)}::bigint[], ${column((one) => one.usage.cache_write_tokens)}::bigint[],
      ${column((one) => one.usage.cost_micro_usd)}::bigint[], ${column((one) => one.ran)}::boolean[])
      as n (id, last_idx, harness_seq, open_run, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_micro_usd, ran)
    where s.id = n.id`.execute(tx);
}
