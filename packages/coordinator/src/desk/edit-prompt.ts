// Changes or removes a prompt that does not run yet. A prompt that no host was ever handed is
// changed here and now, with the event that says so; any other needs the harness to do it, by a
// command that its own event proves.

import { sql } from 'kysely';
import type { Outcome } from '../coordinator.js';
import type { Db } from '../database.js';
import { putCommand, retireCommands } from '../outbox.js';
import { cleanText, toJsonText } from '../payload.js';
import type { Attachment } from '../session-events.js';
import { appendToSession, type LockedSession, lockSession, moveWishes } from '../session-row.js';

const SUMMARY_LENGTH = 200;

type EditOutcome = Outcome<'not_found' | 'prompt_not_queued'>;

interface QueuedPrompt {
  readonly session: LockedSession;
  readonly promptId: string;
  readonly handed: boolean;
}

export async function editPrompt(db: Db, id: string, promptId: string, text: string): Promise<EditOutcome> {
  return changeQueued(db, id, promptId, async (tx, { session, promptId, handed }) => {
    const command = toJsonText({ type: 'prompt', text, prompt_id: promptId });
    // What it was given with stays with it.
    const { rows } = await sql<{ attachments: readonly Attachment[] | null }>`
      update outbox set command = command || ${command}::jsonb
      where session_id = ${id} and kind = 'prompt' and ref = ${promptId}
      returning command->'attachments' as attachments`.execute(tx);
    const attachments = rows[0]?.attachments ?? [];
    if (handed) {
      const edit = { type: 'edit_queued', prompt_id: promptId, text } as const;
      await putCommand(tx, id, { kind: 'edit', ref: promptId, command: edit, attachments, wakes: true });
      return;
    }
    const summary = Array.from(text).slice(0, SUMMARY_LENGTH).join('');
    await appendToSession(tx, session, [{ type: 'prompt_edited', prompt_id: promptId, summary, text }]);
    await moveWishes(tx, id);
  });
}

export async function dequeuePrompt(db: Db, id: string, promptId: string): Promise<EditOutcome> {
  return changeQueued(db, id, promptId, async (tx, { session, promptId, handed }) => {
    if (!handed) {
      await retireCommands(tx, [{ sessionId: id, kind: 'prompt', ref: promptId }]);
      await appendToSession(tx, session, [{ type: 'prompt_dequeued', prompt_id: promptId }]);
      await moveWishes(tx, id);
      return;
    }
    const asked = await sql`select 1 from outbox
      where session_id = ${id} and kind = 'dequeue' and ref = ${promptId} and retired_at is null`.execute(tx);
    if (asked.rows.length > 0) return;
    const dequeue = { type: 'dequeue_queued', prompt_id: promptId } as const;
    await putCommand(tx, id, { kind: 'dequeue', ref: promptId, command: dequeue, wakes: true });
  });
}

async function changeQueued(
  db: Db,
  id: string,
  rawPromptId: string,
  change: (tx: Db, prompt: QueuedPrompt) => Promise<void>,
): Promise<EditOutcome> {
  const promptId = cleanText(rawPromptId);
  return db.transaction().execute(async (tx) => {
    const session = await lockSession(tx, id);
    if (session === undefined) return { ok: false, reason: 'not_found' };
    const { rows } = await sql<{ handed: boolean; retired: boolean }>`
      select handed_at is not null as handed, retired_at is not null as retired from outbox
      where session_id = ${id} and kind = 'prompt' and ref = ${promptId}`.execute(tx);
    const row = rows[0];
    if (row === undefined || row.retired) return { ok: false, reason: 'prompt_not_queued' };
    await change(tx, { session, promptId, handed: row.handed });
    return { ok: true };
  });
}
