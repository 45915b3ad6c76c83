// Every command to bytes and back: one arm a variant, fields in wire order, index from COMMAND_TYPES.

import { assertNever } from './assert-never.js';
import {
  type CheckpointReason,
  COMMAND_TYPES,
  type HarnessCommand,
  type KnownHarnessCommand,
  type OpenQuestion,
} from './commands.js';
import { type Decoded, decodeOrKeep } from './decoded.js';
import { readAnswers, readQuestions, writeAnswers, writeQuestions } from './question-codec.js';
import { type Read, type Reader, readString, readStrings } from './reader.js';
import { trailingField, type Write, Writer, writeString, writeStrings } from './writer.js';

const REASONS = ['idle', 'preempt', 'manual', 'run_completed'] as const satisfies readonly CheckpointReason[];

const readOpenQuestion: Read<OpenQuestion> = (reader) => ({
  tool_call_id: reader.string(),
  questions: readQuestions(reader),
});
const writeOpenQuestion: Write<OpenQuestion> = (writer, open) => {
  writer.string(open.tool_call_id);
  writeQuestions(writer, open.questions);
};

export function writeCommand(writer: Writer, command: HarnessCommand): void {
  if (command.type === 'unknown') {
    writer.u32(command.index);
    writer.raw(command.bytes);
    return;
  }
  writer.oneOf<KnownHarnessCommand['type']>(COMMAND_TYPES, command.type);
  switch (command.type) {
    case 'checkpoint':
      writer.oneOf<CheckpointReason>(REASONS, command.reason);
      break;
    case 'shutdown':
      writer.u32(command.grace_secs);
      break;
    case 'prompt':
      writer.string(command.text);
      writer.string(command.prompt_id);
      writer.trailing(trailingField(command.trace_parent, writeString));
      break;
    case 'interrupt':
    case 'rehandshake':
      break;
    case 'edit_queued':
      writer.string(command.prompt_id);
      writer.string(command.text);
      break;
    case 'dequeue_queued':
      writer.string(command.prompt_id);
      break;
    case 'answer_question':
      writer.string(command.tool_call_id);
      writeAnswers(writer, command.answers);
      writer.trailing(trailingField(command.trace_parent, writeString));
      break;
    case 'dismiss_question':
      writer.string(command.tool_call_id);
      writer.string(command.reason);
      writer.trailing(trailingField(command.trace_parent, writeString));
      break;
    case 'attend_question':
      writer.string(command.tool_call_id);
      writer.u32(command.hold_ms);
      break;
    case 'reconcile':
      writer.list(command.open, writeOpenQuestion);
      writeStrings(writer, command.closed);
      break;
    case 'acknowledge':
      writer.u64(command.stored_seq);
      break;
    default:
      assertNever(command);
  }
}

function readTraceParent(reader: Reader): { readonly trace_parent?: string } {
  const trace_parent = reader.trailing(readString);
  return trace_parent === undefined ? {} : { trace_parent };
}

function readCommand(reader: Reader): KnownHarnessCommand {
  const type = reader.oneOf(COMMAND_TYPES);
  switch (type) {
    case 'checkpoint':
      return { type, reason: reader.oneOf(REASONS) };
    case 'shutdown':
      return { type, grace_secs: reader.u32() };
    case 'prompt':
      return { type, text: reader.string(), prompt_id: reader.string(), ...readTraceParent(reader) };
    case 'interrupt':
    case 'rehandshake':
      return { type };
    case 'edit_queued':
      return { type, prompt_id: reader.string(), text: reader.string() };
    case 'dequeue_queued':
      return { type, prompt_id: reader.string() };
    case 'answer_question':
      return { type, tool_call_id: reader.string(), answers: readAnswers(reader), ...readTraceParent(reader) };
    case 'dismiss_question':
      return { type, tool_call_id: reader.string(), reason: reader.string(), ...readTraceParent(reader) };
    case 'attend_question':
      return { type, tool_call_id: reader.string(), hold_ms: reader.u32() };
    case 'reconcile':
      return { type, open: reader.list(16, readOpenQuestion), closed: readStrings(reader) };
    case 'acknowledge':
      return { type, stored_seq: reader.u64() };
    default:
      return assertNever(type);
  }
}

/** The body of a command: u32 index, then its fields. Throws ProtoError for numbers that do not fit. */
export function encodeCommand(command: HarnessCommand): Uint8Array {
  const writer = new Writer();
  writeCommand(writer, command);
  return writer.body();
}

/** Throws ProtoError for bytes that break the rules; what is merely unknown is kept as `unknown`. */
export function decodeCommand(body: Uint8Array): Decoded<HarnessCommand> {
  return decodeOrKeep(body, readCommand);
}
