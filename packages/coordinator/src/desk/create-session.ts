// Makes a session: its row, `session_created`, and the first prompt with its command, at once.
// The same idempotency key of the same owner within 24 hours gives the session made first.

import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { NewSession } from '../coordinator.js';
import type { Db } from '../database.js';
import { putCommand } from '../outbox.js';
import { cleanText, toJsonText } from '../payload.js';
import type { CoordinatorEvent } from '../session-events.js';
import { appendToSession } from '../session-row.js';

const TITLE_LENGTH = 80;

export async function createSession(
  db: Db,
  input: NewSession,
): Promise<{ readonly id: string; readonly made: boolean }> {
  return db.transaction().execute(async (tx) => {
    const id = randomUUID();
    const title = cleanText(input.title ?? toTitle(input.prompt));
    if (input.idempotencyKey !== undefined) {
      const first = await takeKey(tx, input.owner.id, input.idempotencyKey, id);
      if (first !== undefined) return { id: first, made: false };
    }
    await sql`insert into sessions (id, owner_id, owner_name, title, agent, model, workspace, status)
      values (${id}, ${input.owner.id}, ${cleanText(input.owner.name)}, ${title}, ${input.agent}, ${input.model ?? null},
        ${toJsonText(input.workspace)}::jsonb, 'created')`.execute(tx);
    const events: CoordinatorEvent[] = [{ type: 'session_created', title, agent: input.agent, by: input.owner }];
    if (input.prompt !== undefined) {
      const promptId = randomUUID();
      events.push({ type: 'prompt_received', prompt_id: promptId, text: input.prompt, by: input.owner });
      await putCommand(tx, id, {
        kind: 'prompt',
        ref: promptId,
        command: { type: 'prompt', text: input.prompt, prompt_id: promptId },
        wakes: true,
      });
    }
    await appendToSession(tx, { id, last_idx: 0 }, events);
    return { id, made: true };
  });
}

/** The session made first with this key, if it is still there. Of two at once the second waits here for the first. */
async function takeKey(tx: Db, ownerId: string, key: string, id: string): Promise<string | undefined> {
  await sql`delete from idempotency_keys where owner_id = ${ownerId} and key = ${cleanText(key)}
    and created_at < clock_timestamp() - interval '24 hours'`.execute(tx);
  const { rows } = await sql<{ session_id: string }>`
    insert into idempotency_keys as k (owner_id, key, session_id, created_at)
    values (${ownerId}, ${cleanText(key)}, ${id}, clock_timestamp())
    on conflict (owner_id, key) do update set session_id = k.session_id
    returning session_id`.execute(tx);
  const first = rows[0]?.session_id;
  if (first === undefined || first === id) return undefined;
  const still = await sql`select 1 from sessions where id = ${first}`.execute(tx);
  if (still.rows.length > 0) return first;
  await sql`update idempotency_keys set session_id = ${id}, created_at = clock_timestamp()
    where owner_id = ${ownerId} and key = ${cleanText(key)}`.execute(tx);
  return undefined;
}

/** A prompt's first line, short. */
function toTitle(prompt: string | undefined): string {
  const line =
    (prompt ?? '')
      .split('\n')
      .find((each) => each.trim() !== '')
      ?.trim() ?? '';
  if (line === '') return 'New session';
  const points = Array.from(line);
  return points.length <= TITLE_LENGTH ? line : `${points.slice(0, TITLE_LENGTH - 1).join('')}…`;
}
