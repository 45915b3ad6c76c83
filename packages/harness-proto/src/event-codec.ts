// Every event to bytes and back: one arm a variant, fields in wire order, index from EVENT_TYPES.

import { assertNever } from './assert-never.js';
import { type Decoded, decodeOrKeep, type Mutable } from './decoded.js';
import {
  type AgentMessage,
  type AgentThought,
  EVENT_TYPES,
  type FileChanged,
  type HarnessEvent,
  type KnownHarnessEvent,
  type MessageRole,
  type Notice,
  type NoticeLevel,
  type PromptEdited,
  type PromptQueued,
  type RunStarted,
  type ToolCallCompleted,
  type ToolCallStarted,
  type Usage,
  type UserQuestion,
} from './events.js';
import { readFileChange, readTruncation, writeFileChange, writeTruncation } from './file-change-codec.js';
import { readAnswers, readQuestions, writeAnswers, writeQuestions } from './question-codec.js';
import { type Read, type Reader, readString, readStrings, readU64 } from './reader.js';
import { readImages, writeImages } from './result-image-codec.js';
import { trailingField, type Write, Writer, writeString, writeStrings, writeU64 } from './writer.js';

const ROLES = ['assistant', 'user', 'system'] as const satisfies readonly MessageRole[];
const LEVELS = ['info', 'warning', 'error'] as const satisfies readonly NoticeLevel[];

const readPreviews: Read<string[][]> = (reader) => reader.list(8, readStrings);
const writePreviews: Write<readonly (readonly string[])[]> = (writer, previews) => writer.list(previews, writeStrings);

export function writeEvent(writer: Writer, event: HarnessEvent): void {
  if (event.type === 'unknown') {
    writer.u32(event.index);
    writer.raw(event.bytes);
    return;
  }
  writer.oneOf<KnownHarnessEvent['type']>(EVENT_TYPES, event.type);
  switch (event.type) {
    case 'run_started':
      writer.string(event.run_id);
      writer.option(event.prompt_summary, writeString);
      writer.option(event.prompt_id, writeString);
      break;
    case 'agent_message':
      writer.string(event.run_id);
      writer.string(event.message_id);
      writer.oneOf<MessageRole>(ROLES, event.role);
      writer.string(event.text);
      writer.trailing(trailingField(event.truncated_bytes, writeU64));
      break;
    case 'tool_call_started':
      writer.string(event.run_id);
      writer.string(event.tool_call_id);
      writer.string(event.tool_name);
      writer.option(event.args_summary, writeString);
      writer.trailing(
        trailingField(event.truncated_bytes, writeU64),
        trailingField(event.parent_tool_call_id, writeString),
      );
      break;
    case 'tool_call_completed':
      writer.string(event.run_id);
      writer.string(event.tool_call_id);
      writer.string(event.tool_name);
      writer.bool(event.ok);
      writer.u64(event.duration_ms);
      writer.option(event.result_summary, writeString);
      writer.trailing(trailingField(event.truncated_bytes, writeU64), trailingField(event.images, writeImages));
      break;
    case 'run_completed':
      writer.string(event.run_id);
      writer.bool(event.ok);
      break;
    case 'run_interrupted':
      writer.string(event.run_id);
      break;
    case 'harness_idle':
      break;
    case 'prompt_queued':
    case 'prompt_edited':
      writer.string(event.prompt_id);
      writer.option(event.summary, writeString);
      break;
    case 'prompt_dequeued':
      writer.string(event.prompt_id);
      break;
    case 'agent_message_chunk':
      writer.string(event.run_id);
      writer.string(event.message_id);
      writer.string(event.chunk);
      break;
    case 'user_question':
      writer.string(event.run_id);
      writer.string(event.tool_call_id);
      writeQuestions(writer, event.questions);
      writer.trailing(trailingField(event.option_previews, writePreviews));
      break;
    case 'question_answered':
      writer.string(event.run_id);
      writer.string(event.tool_call_id);
      writeAnswers(writer, event.answers);
      break;
    case 'file_changed':
      writer.string(event.run_id);
      writer.string(event.tool_call_id);
      writer.string(event.path);
      writeFileChange(writer, event.change);
      writer.trailing(trailingField(event.truncation, writeTruncation));
      break;
    case 'question_dismissed':
      writer.string(event.run_id);
      writer.string(event.tool_call_id);
      writer.string(event.reason);
      break;
    case 'usage':
      writer.string(event.run_id);
      writer.u64(event.input_tokens);
      writer.u64(event.output_tokens);
      writer.u64(event.cache_read_tokens);
      writer.u64(event.cache_write_tokens);
      writer.option(event.cost_micro_usd, writeU64);
      break;
    case 'notice':
      writer.oneOf<NoticeLevel>(LEVELS, event.level);
      writer.string(event.code);
      writer.string(event.message);
      writer.option(event.run_id, writeString);
      writer.option(event.tool_call_id, writeString);
      break;
    case 'agent_thought':
      writer.string(event.run_id);
      writer.string(event.message_id);
      writer.string(event.text);
      writer.trailing(trailingField(event.truncated_bytes, writeU64));
      break;
    default:
      assertNever(event);
  }
}

function readEvent(reader: Reader): KnownHarnessEvent {
  const type = reader.oneOf(EVENT_TYPES);
  switch (type) {
    case 'run_started': {
      const event: Mutable<RunStarted> = { type, run_id: reader.string() };
      const summary = reader.option(readString);
      const promptId = reader.option(readString);
      if (summary !== undefined) event.prompt_summary = summary;
      if (promptId !== undefined) event.prompt_id = promptId;
      return event;
    }
    case 'agent_message': {
      const event: Mutable<AgentMessage> = {
        type,
        run_id: reader.string(),
        message_id: reader.string(),
        role: reader.oneOf(ROLES),
        text: reader.string(),
      };
      const truncated = reader.trailing(readU64);
      if (truncated !== undefined) event.truncated_bytes = truncated;
      return event;
    }
    case 'tool_call_started': {
      const event: Mutable<ToolCallStarted> = {
        type,
        run_id: reader.string(),
        tool_call_id: reader.string(),
        tool_name: reader.string(),
      };
      const summary = reader.option(readString);
      const truncated = reader.trailing(readU64);
      const parent = reader.trailing(readString);
      if (summary !== undefined) event.args_summary = summary;
      if (truncated !== undefined) event.truncated_bytes = truncated;
      if (parent !== undefined) event.parent_tool_call_id = parent;
      return event;
    }
    case 'tool_call_completed': {
      const event: Mutable<ToolCallCompleted> = {
        type,
        run_id: reader.string(),
        tool_call_id: reader.string(),
        tool_name: reader.string(),
        ok: reader.bool(),
        duration_ms: reader.u64(),
      };
      const summary = reader.option(readString);
      const truncated = reader.trailing(readU64);
      const images = reader.trailing(readImages);
      if (summary !== undefined) event.result_summary = summary;
      if (truncated !== undefined) event.truncated_bytes = truncated;
      if (images !== undefined) event.images = images;
      return event;
    }
    case 'run_completed':
      return { type, run_id: reader.string(), ok: reader.bool() };
    case 'run_interrupted':
      return { type, run_id: reader.string() };
    case 'harness_idle':
      return { type };
    case 'prompt_queued':
    case 'prompt_edited': {
      const event: Mutable<PromptQueued | PromptEdited> = { type, prompt_id: reader.string() };
      const summary = reader.option(readString);
      if (summary !== undefined) event.summary = summary;
      return event;
    }
    case 'prompt_dequeued':
      return { type, prompt_id: reader.string() };
    case 'agent_message_chunk':
      return { type, run_id: reader.string(), message_id: reader.string(), chunk: reader.string() };
    case 'user_question': {
      const event: Mutable<UserQuestion> = {
        type,
        run_id: reader.string(),
        tool_call_id: reader.string(),
        questions: readQuestions(reader),
      };
      const previews = reader.trailing(readPreviews);
      if (previews !== undefined) event.option_previews = previews;
      return event;
    }
    case 'question_answered':
      return { type, run_id: reader.string(), tool_call_id: reader.string(), answers: readAnswers(reader) };
    case 'file_changed': {
      const event: Mutable<FileChanged> = {
        type,
        run_id: reader.string(),
        tool_call_id: reader.string(),
        path: reader.string(),
        change: readFileChange(reader),
      };
      const truncation = reader.trailing(readTruncation);
      if (truncation !== undefined) event.truncation = truncation;
      return event;
    }
    case 'question_dismissed':
      return { type, run_id: reader.string(), tool_call_id: reader.string(), reason: reader.string() };
    case 'usage': {
      const event: Mutable<Usage> = {
        type,
        run_id: reader.string(),
        input_tokens: reader.u64(),
        output_tokens: reader.u64(),
        cache_read_tokens: reader.u64(),
        cache_write_tokens: reader.u64(),
      };
      const cost = reader.option(readU64);
      if (cost !== undefined) event.cost_micro_usd = cost;
      return event;
    }
    case 'notice': {
      const event: Mutable<Notice> = {
        type,
        level: reader.oneOf(LEVELS),
        code: reader.string(),
        message: reader.string(),
      };
      const runId = reader.option(readString);
      const toolCallId = reader.option(readString);
      if (runId !== undefined) event.run_id = runId;
      if (toolCallId !== undefined) event.tool_call_id = toolCallId;
      return event;
    }
    case 'agent_thought': {
      const event: Mutable<AgentThought> = {
        type,
        run_id: reader.string(),
        message_id: reader.string(),
        text: reader.string(),
      };
      const truncated = reader.trailing(readU64);
      if (truncated !== undefined) event.truncated_bytes = truncated;
      return event;
    }
    default:
      return assertNever(type);
  }
}

/** The body of an event: u32 index, then its fields. Throws ProtoError for numbers that do not fit. */
export function encodeEvent(event: HarnessEvent): Uint8Array {
  const writer = new Writer();
  writeEvent(writer, event);
  return writer.body();
}

/** Throws ProtoError for bytes that break the rules; what is merely unknown is kept as `unknown`. */
export function decodeEvent(body: Uint8Array): Decoded<HarnessEvent> {
  return decodeOrKeep(body, readEvent);
}
