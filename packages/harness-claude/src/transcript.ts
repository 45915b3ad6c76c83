// A conversation's transcript file (JSON lines, one content block a line) as bytes and the facts in
// it. Pure. Lines are split at LF only; a line that is torn or of a kind we do not know is kept as it
// is and says nothing. Subagent lines (isSidechain) are never taken for the main conversation.

import { asArray, asNonEmptyString, asRecord, asString, type JsonRecord, parseJson } from './json-guards.js';
import { toResultText } from './parse-claude-message.js';

const LF = 0x0a;
const PLACEHOLDER = '[Tool result missing due to internal error]';
const INTERRUPTED = '[Request interrupted by user';

export interface TranscriptLine {
  /** The line's bytes, without LF. */
  readonly bytes: Uint8Array;
  /** Undefined for a line that is no JSON object. */
  readonly record: JsonRecord | undefined;
  readonly uuid: string | undefined;
  readonly parentUuid: string | undefined;
  /** Main conversation line of this kind; other kinds (queue-operation, last-prompt, …) are `other`. */
  readonly kind: 'assistant' | 'user' | 'attachment' | 'system' | 'other';
}

export interface Transcript {
  readonly lines: readonly TranscriptLine[];
  /** The file ends inside a line: a process was killed while writing. */
  readonly endsTorn: boolean;
}

export function parseTranscript(bytes: Uint8Array): Transcript {
  const lines: TranscriptLine[] = [];
  let start = 0;
  while (start < bytes.length) {
    const lf = bytes.indexOf(LF, start);
    const end = lf === -1 ? bytes.length : lf;
    lines.push(toLine(bytes.subarray(start, end)));
    start = end + 1;
  }
  return { lines, endsTorn: bytes.length > 0 && bytes.at(-1) !== LF };
}

function toLine(bytes: Uint8Array): TranscriptLine {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const record = asRecord(parseJson(text));
  return {
    bytes,
    record,
    uuid: asNonEmptyString(record?.uuid),
    parentUuid: asNonEmptyString(record?.parentUuid),
    kind: record === undefined || record.isSidechain === true ? 'other' : toKind(record.type),
  };
}

function toKind(type: unknown): TranscriptLine['kind'] {
  switch (type) {
    case 'assistant':
    case 'user':
    case 'attachment':
    case 'system':
      return type;
    default:
      return 'other';
  }
}

function message(line: TranscriptLine): JsonRecord {
  return asRecord(line.record?.message) ?? {};
}

export function messageId(line: TranscriptLine): string | undefined {
  return asNonEmptyString(message(line).id);
}

function blocks(line: TranscriptLine): readonly JsonRecord[] {
  return (asArray(message(line).content) ?? []).map((block) => asRecord(block) ?? {});
}

export interface ToolUse {
  readonly id: string;
  readonly name: string;
}

export function toolUses(line: TranscriptLine): readonly ToolUse[] {
  if (line.kind !== 'assistant') return [];
  return blocks(line).flatMap((block) => {
    const id = asNonEmptyString(block.id);
    return block.type === 'tool_use' && id !== undefined ? [{ id, name: asString(block.name) ?? '' }] : [];
  });
}

export interface ToolResult {
  readonly toolUseId: string;
  readonly text: string;
  /** The CLI's stand-in for a result it does not have. */
  readonly isPlaceholder: boolean;
}

export function toolResults(line: TranscriptLine): readonly ToolResult[] {
  if (line.kind !== 'user') return [];
  return blocks(line).flatMap((block) => {
    const toolUseId = asNonEmptyString(block.tool_use_id);
    if (block.type !== 'tool_result' || toolUseId === undefined) return [];
    const text = toResultText(block.content);
    return [{ toolUseId, text, isPlaceholder: text.trim() === PLACEHOLDER }];
  });
}

/** A line in the user's place that the CLI wrote itself: a task's end, "Continue from where …", an interrupt. */
export function isMadeByCli(line: TranscriptLine): boolean {
  const kind = asString(asRecord(line.record?.origin)?.kind);
  return line.record?.isMeta === true || (kind !== undefined && kind !== 'human') || isInterruptMark(line);
}

function isInterruptMark(line: TranscriptLine): boolean {
  const content = message(line).content;
  const texts = typeof content === 'string' ? [content] : blocks(line).map((block) => asString(block.text) ?? '');
  return line.kind === 'user' && texts.some((text) => text.startsWith(INTERRUPTED));
}

/** A prompt: a user line that is no tool result and not the CLI's own. */
export function isPrompt(line: TranscriptLine): boolean {
  return line.kind === 'user' && toolResults(line).length === 0 && !isMadeByCli(line);
}

/** The call whose resume marker the line is. */
export function deferredCall(line: TranscriptLine): string | undefined {
  const attachment = line.kind === 'attachment' ? asRecord(line.record?.attachment) : undefined;
  return attachment?.type === 'hook_deferred_tool' ? asNonEmptyString(attachment.toolUseID) : undefined;
}

export function isDeferredMarker(line: TranscriptLine, toolUseId: string): boolean {
  return deferredCall(line) === toolUseId;
}

export function hasUserLine(transcript: Transcript, uuid: string): boolean {
  return userLineIndex(transcript, uuid) !== -1;
}

function userLineIndex(transcript: Transcript, uuid: string): number {
  return transcript.lines.findIndex((line) => line.kind === 'user' && line.uuid === uuid);
}

export function hasDeferredMarker(transcript: Transcript, toolUseId: string): boolean {
  return transcript.lines.some((line) => isDeferredMarker(line, toolUseId));
}

/** The call has a result of its own: an answer or a denial, not the CLI's placeholder. */
export function hasToolResult(transcript: Transcript, toolUseId: string): boolean {
  return toolResultText(transcript, toolUseId) !== undefined;
}

export function toolResultText(transcript: Transcript, toolUseId: string): string | undefined {
  return transcript.lines.flatMap(toolResults).find((result) => result.toolUseId === toolUseId && !result.isPlaceholder)
    ?.text;
}

/** What became of a prompt's line: never taken, taken and cut short, or answered to the end of its turn. */
export type LineTrace = 'absent' | 'unfinished' | 'finished';

export function traceOfUserLine(transcript: Transcript, uuid: string): LineTrace {
  const at = userLineIndex(transcript, uuid);
  if (at === -1) return 'absent';
  const next = transcript.lines.findIndex((line, i) => i > at && isPrompt(line));
  const turn = transcript.lines.slice(at + 1, next === -1 ? undefined : next);
  let trace: LineTrace = 'unfinished';
  for (const line of turn) {
    if (line.kind === 'assistant') {
      const stop = asNonEmptyString(message(line).stop_reason);
      trace = stop === undefined || stop === 'tool_use' || stop === 'pause_turn' ? 'unfinished' : 'finished';
    } else if (isInterruptMark(line) || deferredCall(line) !== undefined) {
      trace = 'finished';
    } else if (line.kind === 'user') {
      trace = 'unfinished';
    }
  }
  return trace;
}

/** The model went on after the call although the call has no result: its answer would not reach the model. */
export function isPoisoned(transcript: Transcript, toolUseId: string): boolean {
  const at = askingIndex(transcript, toolUseId);
  const asking = transcript.lines[at];
  if (!asking) return false;
  const asked = messageId(asking);
  for (const line of transcript.lines.slice(at + 1)) {
    if (toolResults(line).some((result) => result.toolUseId === toolUseId && !result.isPlaceholder)) return false;
    if (line.kind === 'assistant' && messageId(line) !== asked) return true;
  }
  return false;
}

/** The line that holds the call itself. */
export function askingIndex(transcript: Transcript, toolUseId: string): number {
  return transcript.lines.findIndex((line) => toolUses(line).some((use) => use.id === toolUseId));
}
