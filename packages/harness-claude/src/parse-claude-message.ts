// One parsed JSON line of the agent → ClaudeMessage. The only place that knows the CLI's raw field
// names on the stream. Never throws: what it cannot place becomes `ignored` or `noise`.

import type {
  AssistantBlock,
  ClaudeAssistant,
  ClaudeIgnored,
  ClaudeMessage,
  ClaudeResult,
  ClaudeUsage,
  ClaudeUser,
  InlineImage,
  StreamEvent,
  UserBlock,
} from './claude-message.js';
import {
  asArray,
  asNonEmptyString,
  asNumber,
  asRecord,
  asString,
  asStrings,
  isRecord,
  type JsonRecord,
  parseJson,
} from './json-guards.js';

const NOISE_CHARS = 200;
/** Types we know and have no use for; anything else is counted as new. */
const KNOWN_IDLE_TYPES = new Set([
  'attachment',
  'auth_status',
  'command_lifecycle',
  'keep_alive',
  'progress',
  'prompt_suggestion',
  'rate_limit_event',
  'tool_progress',
  'tool_use_summary',
]);

export function parseClaudeLine(line: string): ClaudeMessage {
  const value = parseJson(line);
  return isRecord(value) && typeof value.type === 'string'
    ? parseClaudeMessage(value, value.type)
    : { type: 'noise', text: line.slice(0, NOISE_CHARS) };
}

function parseClaudeMessage(raw: JsonRecord, type: string): ClaudeMessage {
  const subtype = asString(raw.subtype);
  switch (type) {
    case 'system':
      return subtype === 'init' ? parseInit(raw) : { type: 'system', subtype: subtype ?? '', fields: raw };
    case 'stream_event':
      return parseStreamEvent(raw) ?? ignored(raw, type, true);
    case 'assistant':
      return parseAssistant(raw) ?? ignored(raw, type, false);
    case 'user':
      return parseUser(raw) ?? ignored(raw, type, false);
    case 'result':
      return parseResult(raw);
    case 'control_request':
      return parseControlRequest(raw) ?? ignored(raw, type, false);
    case 'control_cancel_request': {
      const requestId = asString(raw.request_id);
      return requestId === undefined ? ignored(raw, type, false) : { type, request_id: requestId };
    }
    case 'control_response':
      return parseControlResponse(raw) ?? ignored(raw, type, false);
    default:
      return ignored(raw, type, KNOWN_IDLE_TYPES.has(type));
  }
}

function ignored(raw: JsonRecord, type: string, known: boolean): ClaudeIgnored {
  const subtype = asString(raw.subtype) ?? asString(asRecord(raw.attachment)?.type);
  return { type: 'ignored', original_type: type, subtype, known };
}

function parseInit(raw: JsonRecord): ClaudeMessage {
  return {
    type: 'init',
    session_id: asString(raw.session_id) ?? '',
    cwd: asString(raw.cwd) ?? '',
    model: asString(raw.model) ?? '',
    version: asString(raw.claude_code_version) ?? '',
    permission_mode: asString(raw.permissionMode) ?? '',
    tools: asStrings(raw.tools),
  };
}

function parseStreamEvent(raw: JsonRecord): ClaudeMessage | undefined {
  const inner = asRecord(raw.event);
  const event = inner && parseInnerEvent(inner);
  if (!event) return undefined;
  const messageId = event.type === 'message_start' ? event.message_id : asNonEmptyString(raw.api_message_id);
  return {
    type: 'stream_event',
    event,
    parent_tool_use_id: asNonEmptyString(raw.parent_tool_use_id),
    message_id: messageId,
  };
}

function parseInnerEvent(event: JsonRecord): StreamEvent | undefined {
  const index = asNumber(event.index) ?? 0;
  switch (event.type) {
    case 'message_start':
      return { type: 'message_start', message_id: asString(asRecord(event.message)?.id) ?? '' };
    case 'content_block_start':
      return parseBlockStart(asRecord(event.content_block) ?? {}, index);
    case 'content_block_delta':
      return parseDelta(asRecord(event.delta) ?? {}, index);
    case 'content_block_stop':
      return { type: 'block_stop', index };
    case 'message_delta':
      return { type: 'message_delta', stop_reason: asString(asRecord(event.delta)?.stop_reason) };
    case 'message_stop':
      return { type: 'message_stop' };
    default:
      return undefined;
  }
}

function parseBlockStart(block: JsonRecord, index: number): StreamEvent {
  const id = asString(block.id);
  const name = asString(block.name);
  if (block.type === 'tool_use' && id !== undefined && name !== undefined) {
    return { type: 'tool_use_start', index, id, name };
  }
  const kind = block.type === 'text' || block.type === 'thinking' ? block.type : 'other';
  return { type: 'block_start', index, block: kind };
}

function parseDelta(delta: JsonRecord, index: number): StreamEvent | undefined {
  const text = asString(delta.text);
  if (delta.type === 'text_delta' && text !== undefined) return { type: 'text_delta', index, text };
  return delta.type === 'thinking_delta' ? { type: 'thinking_delta', index } : undefined;
}

function parseAssistant(raw: JsonRecord): ClaudeAssistant | undefined {
  const message = asRecord(raw.message);
  if (!message) return undefined;
  const content = message.content;
  const blocks: AssistantBlock[] =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : (asArray(content) ?? []).map((block) => parseAssistantBlock(asRecord(block) ?? {}));
  const error = asNonEmptyString(raw.error);
  const failed = error !== undefined || raw.is_api_error_message === true || raw.isApiErrorMessage === true;
  return {
    type: 'assistant',
    message_id: asString(message.id) ?? '',
    uuid: asNonEmptyString(raw.uuid),
    parent_tool_use_id: asNonEmptyString(raw.parent_tool_use_id),
    blocks,
    synthetic: failed || message.model === '<synthetic>',
    api_error: failed ? { kind: error ?? 'unknown', status: asNumber(raw.api_error_status) } : undefined,
  };
}

function parseAssistantBlock(block: JsonRecord): AssistantBlock {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: asString(block.text) ?? '' };
    case 'thinking':
    case 'redacted_thinking':
      return { type: 'thinking', text: asString(block.thinking) ?? '' };
    case 'tool_use': {
      const id = asNonEmptyString(block.id);
      const name = asNonEmptyString(block.name);
      return id !== undefined && name !== undefined
        ? { type: 'tool_use', id, name, input: block.input }
        : { type: 'other' };
    }
    default:
      return { type: 'other' };
  }
}

function parseUser(raw: JsonRecord): ClaudeUser | undefined {
  const message = asRecord(raw.message);
  if (!message) return undefined;
  const content = message.content;
  const blocks: UserBlock[] =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : (asArray(content) ?? []).map((block) => parseUserBlock(asRecord(block) ?? {}));
  return {
    type: 'user',
    uuid: asNonEmptyString(raw.uuid),
    parent_tool_use_id: asNonEmptyString(raw.parent_tool_use_id),
    blocks,
    is_replay: raw.isReplay === true,
    is_synthetic: raw.isSynthetic === true || raw.isMeta === true,
    // A re-fired call's result is printed at resume under the transcript's name for the field.
    tool_use_result: raw.tool_use_result ?? raw.toolUseResult,
  };
}

function parseUserBlock(block: JsonRecord): UserBlock {
  const toolUseId = asNonEmptyString(block.tool_use_id);
  if (block.type === 'tool_result' && toolUseId !== undefined) {
    const images = toImages(block.content);
    return {
      type: 'tool_result',
      tool_use_id: toolUseId,
      is_error: block.is_error === true,
      content: toResultText(block.content),
      ...(images.length === 0 ? {} : { images }),
    };
  }
  return block.type === 'text' ? { type: 'text', text: asString(block.text) ?? '' } : { type: 'other' };
}

function toImages(content: unknown): readonly InlineImage[] {
  return (asArray(content) ?? []).flatMap((part): InlineImage[] => {
    const record = asRecord(part);
    const source = record?.type === 'image' ? asRecord(record.source) : undefined;
    const data = asNonEmptyString(source?.data);
    const media_type = asNonEmptyString(source?.media_type);
    return source?.type === 'base64' && data !== undefined && media_type !== undefined ? [{ media_type, data }] : [];
  });
}

/** Text of a tool_result's content; images and the like by name, so that nobody thinks it was empty. */
export function toResultText(content: unknown): string {
  if (typeof content === 'string') return content;
  return (asArray(content) ?? [])
    .map((part) => {
      const record = asRecord(part);
      if (!record) return asString(part) ?? '';
      return record.type === 'text' ? (asString(record.text) ?? '') : `[${asString(record.type) ?? 'part'}]`;
    })
    .join('\n');
}

function parseResult(raw: JsonRecord): ClaudeResult {
  const turn = parseTurnUsage(raw.model_usage_since_last_result);
  const deferred = asRecord(raw.deferred_tool_use);
  const deferredId = asNonEmptyString(deferred?.id);
  return {
    type: 'result',
    subtype: asString(raw.subtype) ?? '',
    is_error: raw.is_error === true,
    session_id: asString(raw.session_id) ?? '',
    stop_reason: asNonEmptyString(raw.stop_reason),
    terminal_reason: asNonEmptyString(raw.terminal_reason),
    num_turns: asNumber(raw.num_turns) ?? 0,
    result: asString(raw.result),
    errors: asStrings(raw.errors),
    api_error_status: asNumber(raw.api_error_status),
    usage: turn?.usage ?? parseUsage(asRecord(raw.usage)),
    total_cost_usd: asNumber(raw.total_cost_usd),
    turn_cost_usd: turn?.cost,
    deferred_tool_use:
      deferred && deferredId !== undefined
        ? { id: deferredId, name: asString(deferred.name) ?? '', input: deferred.input }
        : undefined,
  };
}

function parseUsage(usage: JsonRecord | undefined): ClaudeUsage | undefined {
  if (!usage) return undefined;
  return {
    input_tokens: asNumber(usage.input_tokens) ?? 0,
    output_tokens: asNumber(usage.output_tokens) ?? 0,
    cache_read_tokens: asNumber(usage.cache_read_input_tokens) ?? 0,
    cache_write_tokens: asNumber(usage.cache_creation_input_tokens) ?? 0,
  };
}

/** Newer CLIs account a turn per model, subagents included; summed here. */
function parseTurnUsage(value: unknown): { usage: ClaudeUsage; cost: number } | undefined {
  const models = asRecord(value);
  if (!models) return undefined;
  const rows = Object.values(models).filter(isRecord);
  const sum = (key: string) => rows.reduce((total, row) => total + (asNumber(row[key]) ?? 0), 0);
  return {
    usage: {
      input_tokens: sum('inputTokens'),
      output_tokens: sum('outputTokens'),
      cache_read_tokens: sum('cacheReadInputTokens'),
      cache_write_tokens: sum('cacheCreationInputTokens'),
    },
    cost: sum('costUSD'),
  };
}

function parseControlRequest(raw: JsonRecord): ClaudeMessage | undefined {
  const requestId = asString(raw.request_id);
  const request = asRecord(raw.request);
  if (requestId === undefined || !request) return undefined;
  return {
    type: 'control_request',
    request_id: requestId,
    subtype: asString(request.subtype) ?? '',
    tool_name: asString(request.tool_name),
    tool_use_id: asString(request.tool_use_id),
    input: request.input,
  };
}

function parseControlResponse(raw: JsonRecord): ClaudeMessage | undefined {
  const response = asRecord(raw.response);
  const requestId = asString(response?.request_id);
  if (!response || requestId === undefined) return undefined;
  return {
    type: 'control_response',
    request_id: requestId,
    ok: response.subtype === 'success',
    error: asString(response.error),
    response: response.response,
  };
}
