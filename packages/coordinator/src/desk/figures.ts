// The numbers an operator watches: sessions by status, questions that wait for a person, commands owed to an
// agent, those that no harness has been handed yet, hosts and their room.

import { sql } from 'kysely';
import type { Db } from '../database.js';

export interface Figures {
  readonly sessionsByStatus: Readonly<Record<string, number>>;
  readonly questionsWaiting: number;
  /** Accepted and not proven done. What waits behind a question waits as long as the person does. */
  readonly undeliveredCommands: number;
  readonly oldestUndeliveredMs: number;
  /** Of those that wake a session, the ones no harness was handed yet: these wait for a host, for nobody else. */
  readonly unhandedCommands: number;
  readonly oldestUnhandedMs: number;
  /** `alive`, `draining` (and alive), `lost` (silent without a word of leaving). */
  readonly hosts: { readonly alive: number; readonly draining: number; readonly lost: number };
  /** Of hosts that take sessions: how many fit, how many are awake. */
  readonly hostSlots: number;
  readonly sessionsAwake: number;
  /** Live text that hosts left out, since each of them started. */
  readonly chunksDropped: number;
}

interface Row {
  readonly waiting: number;
  readonly owed: number;
  readonly oldest: number;
  readonly unhanded: number;
  readonly oldest_unhanded: number;
  readonly alive: number;
  readonly draining: number;
  readonly lost: number;
  readonly slots: number;
  readonly awake: number;
  readonly dropped: number;
}

export async function readFigures(db: Db): Promise<Figures> {
  const statuses = await sql<{ status: string; n: number }>`
    select status, count(*) as n from sessions group by status order by status`.execute(db);
  const { rows } = await sql<Row>`
    select (select count(*) from questions where state in ('waiting', 'failed')) as waiting, o.*, h.*,
      (select count(*) from sessions where lease_host is not null and lease_until > now()) as awake
    from (select count(*) as owed, ${age(sql`min(accepted_at)`)} as oldest,
        count(*) filter (where wakes and handed_at is null) as unhanded,
        ${age(sql`min(accepted_at) filter (where wakes and handed_at is null)`)} as oldest_unhanded
      from outbox where retired_at is null) o,
      (select count(*) filter (where alive) as alive, count(*) filter (where alive and draining) as draining,
        count(*) filter (where not alive and left_at is null) as lost,
        coalesce(sum(slots) filter (where alive and not draining), 0)::bigint as slots,
        coalesce(sum(chunks_dropped), 0)::bigint as dropped
      from (select *, left_at is null and seen_at > now() - interval '15 seconds' as alive from hosts) known) h`.execute(
    db,
  );
  const [row] = rows;
  return {
    sessionsByStatus: Object.fromEntries(statuses.rows.map((each) => [each.status, each.n])),
    questionsWaiting: row?.waiting ?? 0,
    undeliveredCommands: row?.owed ?? 0,
    oldestUndeliveredMs: Math.max(0, row?.oldest ?? 0),
    unhandedCommands: row?.unhanded ?? 0,
    oldestUnhandedMs: Math.max(0, row?.oldest_unhanded ?? 0),
    hosts: { alive: row?.alive ?? 0, draining: row?.draining ?? 0, lost: row?.lost ?? 0 },
    hostSlots: row?.slots ?? 0,
    sessionsAwake: row?.awake ?? 0,
    chunksDropped: row?.dropped ?? 0,
  };
}

function age(since: ReturnType<typeof sql>) {
  return sql`coalesce(floor(extract(epoch from clock_timestamp() - ${since}) * 1000), 0)::bigint`;
}
