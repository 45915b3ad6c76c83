// The one place where event JSON from the server becomes a typed value. A known kind with all its
// needed fields of the right shape passes; everything else that has an idx is kept as
// `unrecognised`, so that a newer server never breaks an older page.

import type { KnownEvent, LogEvent } from './api-types.js';
import type { AgentMessageChunk } from './wire-types.js';

type FieldKind = 'string' | 'number' | 'boolean' | 'object' | 'array';
type Fields = Readonly<Record<string, FieldKind>>;

const REQUIRED: Readonly<Record<KnownEvent['type'], Fields>> = {
  session_created: { title: 'string', agent: 'string', by: 'object' },
  status_changed: { from: 'string', to: 'string' },
  prompt_received: { prompt_id: 'string', text: 'string', by: 'object' },
  answer_submitted: { tool_call_id: 'string', answers: 'object', by: 'object' },
  question_dismissed: { tool_call_id: 'string', reason: 'string' },
  answer_failed: { tool_call_id: 'string', code: 'string', message: 'string' },
  session_error: { code: 'string', message: 'string' },
  session_deleted: {},
  run_started: { run_id: 'string' },
  agent_message: { run_id: 'string', message_id: 'string', role: 'string', text: 'string' },
  tool_call_started: { run_id: 'string', tool_call_id: 'string', tool_name: 'string' },
  tool_call_completed: {
    run_id: 'string',
    tool_call_id: 'string',
    tool_name: 'string',
    ok: 'boolean',
    duration_ms: 'number',
  },
  run_completed: { run_id: 'string', ok: 'boolean' },
  run_interrupted: { run_id: 'string' },
  harness_idle: {},
  prompt_queued: { prompt_id: 'string' },
  prompt_edited: { prompt_id: 'string' },
  prompt_dequeued: { prompt_id: 'string' },
  user_question: { run_id: 'string', tool_call_id: 'string', questions: 'array' },
  question_answered: { run_id: 'string', tool_call_id: 'string', answers: 'object' },
  file_changed: { run_id: 'string', tool_call_id: 'string', path: 'string', change: 'object' },
  usage: {
    run_id: 'string',
    input_tokens: 'number',
    output_tokens: 'number',
    cache_read_tokens: 'number',
    cache_write_tokens: 'number',
  },
  notice: { level: 'string', code: 'string', message: 'string' },
  agent_thought: { run_id: 'string', message_id: 'string', text: 'string' },
};

const KINDS: ReadonlyMap<string, Fields> = new Map(Object.entries(REQUIRED));

type Json = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasKind(value: unknown, kind: FieldKind): boolean {
  if (kind === 'array') return Array.isArray(value);
  if (kind === 'object') return isJsonObject(value);
  return typeof value === kind;
}

function isStringList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isAnswers(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).every(isStringList);
}

function isQuestion(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    typeof value.question === 'string' &&
    typeof value.header === 'string' &&
    typeof value.multi_select === 'boolean' &&
    Array.isArray(value.options) &&
    value.options.every((o) => isJsonObject(o) && typeof o.label === 'string' && typeof o.description === 'string')
  );
}

function isHunk(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    typeof value.old_start === 'number' &&
    typeof value.new_start === 'number' &&
    isStringList(value.lines)
  );
}

function isChange(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  switch (value.type) {
    case 'write':
      return typeof value.content === 'string';
    case 'edit':
      return (
        Array.isArray(value.hunks) &&
        value.hunks.every((h) => isJsonObject(h) && typeof h.old === 'string' && typeof h.new === 'string')
      );
    case 'patch':
      return (
        typeof value.kind === 'string' &&
        typeof value.additions === 'number' &&
        typeof value.deletions === 'number' &&
        Array.isArray(value.hunks) &&
        value.hunks.every(isHunk)
      );
    default:
      return false;
  }
}

function isList(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isImage(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    typeof value.attachment_id === 'string' &&
    typeof value.media_type === 'string' &&
    typeof value.size === 'number'
  );
}

function isAttachment(value: unknown): boolean {
  return isImage(value) && isJsonObject(value) && typeof value.name === 'string';
}

function isKnown(value: Json): value is Json & KnownEvent {
  const fields = typeof value.type === 'string' ? KINDS.get(value.type) : undefined;
  if (fields === undefined) return false;
  if (!Object.entries(fields).every(([name, kind]) => hasKind(value[name], kind))) return false;
  if ('answers' in fields && !isAnswers(value.answers)) return false;
  if ('questions' in fields && !(Array.isArray(value.questions) && value.questions.every(isQuestion))) return false;
  if ('change' in fields && !isChange(value.change)) return false;
  if ('attachments' in value && !isList(value.attachments, isAttachment)) return false;
  if ('images' in value && !isList(value.images, isImage)) return false;
  if (isJsonObject(value.by) && typeof value.by.name !== 'string') return false;
  return true;
}

/** Undefined when the value is no stored event at all. */
export function parseLogEvent(value: unknown): LogEvent | undefined {
  if (!isJsonObject(value)) return undefined;
  const { idx, at } = value;
  if (typeof idx !== 'number' || !Number.isSafeInteger(idx) || idx < 1) return undefined;
  const when = typeof at === 'string' ? at : '';
  if (isKnown(value)) {
    const { cut_from_bytes: whole } = value;
    if (typeof whole !== 'number') return { idx, at: when, event: value };
    return { idx, at: when, event: value, droppedBytes: Math.max(1, whole - JSON.stringify(value).length) };
  }
  const name = typeof value.type === 'string' ? value.type : 'unnamed';
  return { idx, at: when, event: { type: 'unrecognised', name, fields: JSON.stringify(value) } };
}

export function parseChunk(value: unknown): AgentMessageChunk | undefined {
  if (!isJsonObject(value)) return undefined;
  const { run_id, message_id, chunk } = value;
  if (typeof run_id !== 'string' || typeof message_id !== 'string' || typeof chunk !== 'string') return undefined;
  return { type: 'agent_message_chunk', run_id, message_id, chunk };
}
