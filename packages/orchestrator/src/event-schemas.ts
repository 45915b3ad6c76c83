// The JSON of every event kind, as REST and SSE show it: `{idx, type, at, …fields}`. Held against
// the wire's and the coordinator's types by the compiler, so a field added there is missing here
// until it is described. Documents, never a gate: an event of a kind unknown here is shown as it is.

import type { CoordinatorEvent } from '@engram/coordinator';
import type { KnownHarnessEvent } from '@engram/harness-proto';
import { z } from 'zod';

const count = z.int().min(0);
const text = z.string();
const runId = text.meta({ description: 'One turn of the agent.' });
const callId = text.meta({ description: 'Ties question, answer and result together.' });

export const Actor = z.object({ id: text, name: text }).readonly().meta({ id: 'Actor' });

export const SessionStatus = z
  .enum(['created', 'active', 'evicting', 'idle', 'host_lost', 'failed'])
  .meta({ id: 'SessionStatus' });

export const Question = z
  .object({
    question: text,
    header: text,
    multi_select: z.boolean(),
    options: z.array(z.object({ label: text, description: text }).readonly()).readonly(),
  })
  .readonly()
  .meta({ id: 'Question' });

export const Answers = z
  .record(text, z.array(text).readonly())
  .readonly()
  .meta({ id: 'Answers', description: 'Question text → chosen labels or free text; always a list.' });

export const Attachment = z
  .object({
    attachment_id: text.meta({ description: 'SHA-256 of the bytes, in hex.' }),
    name: text.meta({ description: "What the sender's machine called it; a label, never a path." }),
    media_type: text.meta({ description: 'Told from the bytes.' }),
    size: count,
  })
  .readonly()
  .meta({ id: 'Attachment' });

const ResultImage = z
  .object({
    attachment_id: text.meta({ description: 'Its bytes are an attachment of the session, when they could be kept.' }),
    media_type: text,
    size: count,
  })
  .readonly()
  .meta({ id: 'ResultImage' });

const line = z.int().min(0);
const FileChange = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('write'), content: text }).readonly(),
    z
      .object({ type: z.literal('edit'), hunks: z.array(z.object({ old: text, new: text }).readonly()).readonly() })
      .readonly(),
    z
      .object({
        type: z.literal('patch'),
        kind: z.enum(['create', 'update', 'overwrite']),
        hunks: z
          .array(
            z
              .object({
                old_start: line,
                old_lines: count,
                new_start: line,
                new_lines: count,
                lines: z.array(text).readonly().meta({ description: "Each starts with ' ', '+', '-' or '\\'." }),
              })
              .readonly(),
          )
          .readonly(),
        additions: count,
        deletions: count,
        approximate: z.boolean().meta({ description: 'The counts are an estimate.' }),
      })
      .readonly(),
  ])
  .meta({ id: 'FileChange' });

const truncated = count.meta({ description: 'Bytes that a cap removed from the text.' });

type Known = Exclude<CoordinatorEvent, { type: 'question_dismissed' }> | KnownHarnessEvent;
type Kind = Known['type'];
/** `question_dismissed` comes from both sides; the coordinator's form is the wider one. */
type EventOf<K extends Kind> = K extends 'question_dismissed'
  ? Extract<CoordinatorEvent, { type: 'question_dismissed' }>
  : Extract<Known, { type: K }>;

const wireEvents = {
  run_started: z.object({
    type: z.literal('run_started'),
    run_id: runId,
    prompt_summary: text.exactOptional(),
    prompt_id: text.exactOptional(),
  }),
  agent_message: z.object({
    type: z.literal('agent_message'),
    run_id: runId,
    message_id: text,
    role: z.enum(['assistant', 'user', 'system']),
    text,
    truncated_bytes: truncated.exactOptional(),
  }),
  tool_call_started: z.object({
    type: z.literal('tool_call_started'),
    run_id: runId,
    tool_call_id: callId,
    tool_name: text,
    args_summary: text.exactOptional(),
    truncated_bytes: truncated.exactOptional(),
    parent_tool_call_id: text.exactOptional(),
  }),
  tool_call_completed: z.object({
    type: z.literal('tool_call_completed'),
    run_id: runId,
    tool_call_id: callId,
    tool_name: text,
    ok: z.boolean(),
    duration_ms: count,
    result_summary: text.exactOptional(),
    truncated_bytes: truncated.exactOptional(),
    images: z.array(ResultImage).readonly().exactOptional(),
  }),
  run_completed: z.object({ type: z.literal('run_completed'), run_id: runId, ok: z.boolean() }),
  run_interrupted: z.object({ type: z.literal('run_interrupted'), run_id: runId }),
  harness_idle: z.object({ type: z.literal('harness_idle') }),
  prompt_queued: z.object({ type: z.literal('prompt_queued'), prompt_id: text, summary: text.exactOptional() }),
  prompt_dequeued: z.object({ type: z.literal('prompt_dequeued'), prompt_id: text }),
  agent_message_chunk: z.object({
    type: z.literal('agent_message_chunk'),
    run_id: runId,
    message_id: text,
    chunk: text,
  }),
  user_question: z.object({
    type: z.literal('user_question'),
    run_id: runId,
    tool_call_id: callId,
    questions: z.array(Question).readonly(),
    option_previews: z.array(z.array(text).readonly()).readonly().exactOptional(),
  }),
  question_answered: z.object({
    type: z.literal('question_answered'),
    run_id: runId,
    tool_call_id: callId,
    answers: Answers,
  }),
  file_changed: z.object({
    type: z.literal('file_changed'),
    run_id: runId,
    tool_call_id: callId,
    path: text,
    change: FileChange,
    truncation: z.object({ dropped_hunks: count, dropped_bytes: count }).readonly().exactOptional(),
  }),
  usage: z.object({
    type: z.literal('usage'),
    run_id: runId,
    input_tokens: count,
    output_tokens: count,
    cache_read_tokens: count,
    cache_write_tokens: count,
    cost_micro_usd: count.exactOptional(),
  }),
  notice: z.object({
    type: z.literal('notice'),
    level: z.enum(['info', 'warning', 'error']),
    code: text,
    message: text,
    run_id: text.exactOptional(),
    tool_call_id: text.exactOptional(),
  }),
  agent_thought: z.object({
    type: z.literal('agent_thought'),
    run_id: runId,
    message_id: text,
    text,
    truncated_bytes: truncated.exactOptional(),
  }),
};

const ownEvents = {
  session_created: z.object({ type: z.literal('session_created'), title: text, agent: text, by: Actor }),
  status_changed: z.object({ type: z.literal('status_changed'), from: SessionStatus, to: SessionStatus }),
  prompt_received: z.object({
    type: z.literal('prompt_received'),
    prompt_id: text,
    text,
    by: Actor,
    attachments: z.array(Attachment).readonly().exactOptional(),
  }),
  answer_submitted: z.object({
    type: z.literal('answer_submitted'),
    tool_call_id: callId,
    answers: Answers,
    by: Actor,
  }),
  question_dismissed: z.object({
    type: z.literal('question_dismissed'),
    tool_call_id: callId,
    reason: text,
    run_id: text.exactOptional(),
    by: Actor.exactOptional(),
  }),
  answer_failed: z.object({ type: z.literal('answer_failed'), tool_call_id: callId, code: text, message: text }),
  session_error: z.object({ type: z.literal('session_error'), code: text, message: text }),
  prompt_edited: z.object({
    type: z.literal('prompt_edited'),
    prompt_id: text,
    summary: text.exactOptional().meta({ description: 'The beginning of the new text.' }),
    text: text.exactOptional().meta({ description: 'The whole new text, as the person gave it.' }),
  }),
  session_deleted: z.object({ type: z.literal('session_deleted') }),
};

/** The event's own fields, by kind: exactly what is stored, and the chunk that is not. */
export const eventFields = { ...ownEvents, ...wireEvents } satisfies { [K in Kind]: z.ZodType<EventOf<K>> };

const EPHEMERAL: ReadonlySet<string> = new Set<Kind>(['agent_message_chunk']);

const position = {
  idx: z.int().min(1).meta({ description: 'Place in the session: from 1, without gaps.' }),
  at: z.iso.datetime().meta({ description: 'When it was stored; UTC.' }),
};

/** A wire event of a newer harness, kept byte for byte. */
const unknownEvent = z
  .object({ ...position, type: z.literal('unknown'), index: count, bytes: z.base64() })
  .meta({ description: 'An event of a newer harness, as it came; bytes in base64.' });

/** Sent on a stream only, without id: chunks were dropped, or the cursor was above the tail. */
const lagged = z
  .object({ type: z.literal('lagged'), last_event_idx: count })
  .meta({ description: 'On a stream only: everything up to this idx was sent; live text in between was dropped.' });

/** Kind → schema of its JSON on REST and SSE. */
export const eventSchemas: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ...Object.entries(eventFields).map(([kind, fields]): [string, z.ZodType] => [
    kind,
    EPHEMERAL.has(kind) ? fields : fields.extend(position),
  ]),
  ['unknown', unknownEvent],
  ['lagged', lagged],
]);

/** What a list of events holds, for the OpenAPI document: known kinds are described in event-schemas.json. */
export const StoredEventJson = z
  .looseObject({
    ...position,
    type: text.meta({ description: 'The kind; a newer release may send kinds not listed.' }),
  })
  .meta({
    id: 'StoredEvent',
    description: 'One event of the log. docs/event-schemas.json has the fields of every kind.',
  });
