// Gives a session another title.

import { sql } from 'kysely';
import type { Session } from '../coordinator.js';
import { isUuid } from '../cursor.js';
import type { Db } from '../database.js';
import { cleanText } from '../payload.js';
import { readSession } from '../session-view.js';

export async function renameSession(db: Db, id: string, title: string): Promise<Session | undefined> {
  if (!isUuid(id)) return undefined;
  await sql`update sessions set title = ${cleanText(title)} where id = ${id}`.execute(db);
  return readSession(db, id);
}
