// The numbers an operator watches: sessions by status, questions that wait for a person, commands
// owed to an agent and the age of the oldest.

import { sql } from 'kysely';
import type { Db } from '../database.js';

export interface Figures {
  readonly sessionsByStatus: Readonly<Record<string, number>>;
  readonly questionsWaiting: number;
  readonly undeliveredCommands: number;
  readonly oldestUndeliveredMs: number;
}

export async function readFigures(db: Db): Promise<Figures> {
  const statuses = await sql<{ status: string; n: number }>`
    select status, count(*) as n from sessions group by status order by status`.execute(db);
  const { rows } = await sql<{ waiting: number; owed: number; oldest: number }>`
    select (select count(*) from questions where state in ('waiting', 'failed')) as waiting, count(*) as owed,
      coalesce(floor(extract(epoch from clock_timestamp() - min(accepted_at)) * 1000), 0)::bigint as oldest
    from outbox where retired_at is null`.execute(db);
  return {
    sessionsByStatus: Object.fromEntries(statuses.rows.map((row) => [row.status, row.n])),
    questionsWaiting: rows[0]?.waiting ?? 0,
    undeliveredCommands: rows[0]?.owed ?? 0,
    oldestUndeliveredMs: Math.max(0, rows[0]?.oldest ?? 0),
  };
}
