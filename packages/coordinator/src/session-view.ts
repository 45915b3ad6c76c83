// A session as the API shows it, from one query: the row, its open questions and what is owed to
// its agent.

import type { Question } from '@engram/harness-proto';
import { type RawBuilder, sql } from 'kysely';
import type { AwaitingQuestion, QuestionState, Session, Workspace } from './coordinator.js';
import { isUuid } from './cursor.js';
import type { Db } from './database.js';
import type { SessionStatus } from './session-events.js';

export interface SessionViewRow {
  readonly id: string;
  readonly owner_id: string;
  readonly title: string;
  readonly agent: string;
  readonly model: string | null;
  readonly workspace: Workspace;
  readonly status: SessionStatus;
  readonly created_at: string;
  readonly updated_at: string;
  readonly last_idx: number;
  readonly harness_seq: number;
  readonly epoch: number;
  readonly open_run: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly cost_micro_usd: number;
  readonly awaiting: readonly {
    tool_call_id: string;
    questions: readonly Question[];
    asked_ms: number;
    state: QuestionState;
  }[];
  readonly undelivered: readonly { kind: string; id: string; text: string | null; accepted_ms: number }[];
}

/** The columns of a SessionViewRow, for table alias `s`. */
export const SESSION_VIEW: RawBuilder<unknown> = sql.raw(`
  s.id, s.owner_id, s.title, s.agent, s.model, s.workspace, s.status, s.created_at, s.updated_at, s.last_idx,
  s.harness_seq, s.epoch, s.open_run, s.input_tokens, s.output_tokens, s.cache_read_tokens, s.cache_write_tokens,
  s.cost_micro_usd,
  (select coalesce(json_agg(json_build_object('tool_call_id', q.tool_call_id, 'questions', q.questions, 'asked_ms',
      (extract(epoch from q.asked_at) * 1000)::bigint, 'state', q.state) order by q.asked_idx), '[]')
    from questions q where q.session_id = s.id and q.state in ('waiting', 'sent', 'failed')) as awaiting,
  (select coalesce(json_agg(json_build_object('kind', o.kind, 'id', case when o.ref = '' then o.id::text else o.ref end,
      'text', o.command->>'text', 'accepted_ms', (extract(epoch from o.accepted_at) * 1000)::bigint) order by o.id), '[]')
    from outbox o where o.session_id = s.id and o.retired_at is null) as undelivered`);

export async function readSession(db: Db, id: string): Promise<Session | undefined> {
  if (!isUuid(id)) return undefined;
  const { rows } = await sql<SessionViewRow>`select ${SESSION_VIEW} from sessions s where s.id = ${id}`.execute(db);
  return rows[0] === undefined ? undefined : toSession(rows[0]);
}

export function toSession(row: SessionViewRow): Session {
  return {
    id: row.id,
    title: row.title,
    agent: row.agent,
    ...(row.model === null ? {} : { model: row.model }),
    status: row.status,
    running: row.open_run !== null,
    awaiting: row.awaiting.map(toAwaiting),
    owner: row.owner_id,
    workspace: row.workspace,
    created_at: row.created_at,
    updated_at: row.updated_at,
    last_event_idx: row.last_idx,
    usage: {
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      cache_read_tokens: row.cache_read_tokens,
      cache_write_tokens: row.cache_write_tokens,
      cost_micro_usd: row.cost_micro_usd,
    },
    undelivered: row.undelivered.map(({ kind, id, text, accepted_ms }) => ({
      kind,
      id,
      ...(text === null ? {} : { text }),
      accepted_at: new Date(accepted_ms).toISOString(),
    })),
  };
}

function toAwaiting(row: SessionViewRow['awaiting'][number]): AwaitingQuestion {
  return {
    tool_call_id: row.tool_call_id,
    questions: row.questions,
    asked_at: new Date(row.asked_ms).toISOString(),
    state: row.state,
  };
}
