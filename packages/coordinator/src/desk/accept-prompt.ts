// Accepts a prompt: `prompt_received` and its command in one transaction. A question that waits
// unanswered is superseded by it; one whose answer is stored is not, the prompt queues behind.

import { sql } from 'kysely';
import type { Outcome } from '../coordinator.js';
import type { Db } from '../database.js';
import { putCommand } from '../outbox.js';
import { closeWaitingQuestions } from '../questions.js';
import type { Actor } from '../session-events.js';
import { appendToSession, lockSession } from '../session-row.js';
import { resolveAttachments } from './attachments.js';

export async function acceptPrompt(
  db: Db,
  id: string,
  prompt: {
    readonly text: string;
    readonly prompt_id: string;
    readonly by: Actor;
    readonly attachments?: readonly { readonly attachment_id: string; readonly name: string }[];
  },
): Promise<Outcome<'not_found' | 'attachment_missing'>> {
  return db.transaction().execute(async (tx) => {
    const session = await lockSession(tx, id);
    if (session === undefined) return { ok: false, reason: 'not_found' };
    const known = await sql`select 1 from outbox
      where session_id = ${id} and kind = 'prompt' and ref = ${prompt.prompt_id}`.execute(tx);
    if (known.rows.length > 0) return { ok: true };
    const { text, prompt_id, by } = prompt;
    const attachments = await resolveAttachments(tx, id, prompt.attachments ?? []);
    if (attachments === undefined) return { ok: false, reason: 'attachment_missing' };
    const files = attachments.length === 0 ? {} : { attachments };
    const received = { type: 'prompt_received', prompt_id, text, by, ...files } as const;
    const last_idx = await appendToSession(tx, session, [received]);
    await closeWaitingQuestions(tx, { id, last_idx }, 'superseded', by);
    await putCommand(tx, id, {
      kind: 'prompt',
      ref: prompt_id,
      command: { type: 'prompt', text, prompt_id },
      ...files,
      wakes: true,
    });
    return { ok: true };
  });
}
