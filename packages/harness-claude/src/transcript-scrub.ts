// Repairs a transcript in which the model went on although its question had no answer: removes what
// came after the question, byte for byte nothing else, and joins the ends. Pure: bytes → bytes.
//
//   asking ← marker ← [narration ← duplicate question ← its hook lines] ← last-prompt
//                     └────────────── removed ───────────────────────┘
//
// Newer CLIs also keep a record of each request; one behind the marker tells them that the parked
// call is over (2.1.332 then never fires the hook again), so those go as well.
//
// It declines, with a reason, whenever something real would be lost or the file is not understood:
// the answer then goes out as a message. The line that holds the question is never removed.

import { asRecord, asString } from './json-guards.js';
import { QUESTION_TOOL } from './question-input.js';
import {
  hasDeferredMarker,
  hasToolResult,
  isDeferredMarker,
  isMadeByCli,
  isPrompt,
  messageId,
  parseTranscript,
  type Transcript,
  type TranscriptLine,
  toolResults,
  toolUses,
} from './transcript.js';

export type ScrubDecline =
  | 'question_missing'
  | 'question_twice'
  | 'marker_missing'
  | 'already_answered'
  | 'prompt_after_question'
  | 'tools_ran_after_question'
  | 'unclear_line';

export type ScrubResult =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly removed: number; readonly relinked: number }
  | { readonly ok: false; readonly reason: ScrubDecline };

export function scrubTranscript(bytes: Uint8Array, toolUseId: string): ScrubResult {
  const transcript = parseTranscript(bytes);
  const asking = transcript.lines.flatMap((line, i) => (toolUses(line).some((use) => use.id === toolUseId) ? [i] : []));
  const [at] = asking;
  const askingLine = at === undefined ? undefined : transcript.lines[at];
  if (at === undefined || !askingLine) return decline('question_missing');
  if (asking.length > 1) return decline('question_twice');
  if (hasToolResult(transcript, toolUseId)) return decline('already_answered');
  if (!hasDeferredMarker(transcript, toolUseId)) return decline('marker_missing');

  const removed = findRemoved(transcript, at, messageId(askingLine), toolUseId);
  if (!(removed instanceof Set)) return decline(removed);
  if (removed.size === 0) return { ok: true, bytes, removed: 0, relinked: 0 };
  return rewrite(transcript, removed);
}

function decline(reason: ScrubDecline): ScrubResult {
  return { ok: false, reason };
}

/** Indices of the lines to remove, or why none may be. */
function findRemoved(
  transcript: Transcript,
  at: number,
  asked: string | undefined,
  toolUseId: string,
): Set<number> | ScrubDecline {
  const removed = new Set<number>();
  const removedCalls = new Set<string>();
  const answered = new Set(transcript.lines.flatMap(toolResults).map((result) => result.toolUseId));

  for (const [i, line] of transcript.lines.entries()) {
    if (i <= at || line.kind !== 'assistant' || messageId(line) === asked) continue;
    for (const call of toolUses(line)) {
      if (call.name !== QUESTION_TOOL && answered.has(call.id)) return 'tools_ran_after_question';
      removedCalls.add(call.id);
    }
    removed.add(i);
  }
  const marker = transcript.lines.findIndex((line) => isDeferredMarker(line, toolUseId));
  for (const [i, line] of transcript.lines.entries()) {
    if (i <= at) continue;
    if (i > marker && isRequestRecord(line)) removed.add(i);
    if (line.kind === 'user') {
      const verdict = judgeUserLine(line, removedCalls, toolUseId);
      if (verdict === 'remove') removed.add(i);
      else if (verdict !== 'keep') return verdict;
    } else if (line.kind === 'attachment') {
      const call = asString(asRecord(line.record?.attachment)?.toolUseID);
      if (call !== undefined && removedCalls.has(call)) removed.add(i);
    }
  }
  return removed;
}

function isRequestRecord(line: TranscriptLine): boolean {
  return asString(line.record?.type)?.startsWith('api-request') ?? false;
}

function judgeUserLine(
  line: TranscriptLine,
  removedCalls: ReadonlySet<string>,
  toolUseId: string,
): 'keep' | 'remove' | ScrubDecline {
  const results = toolResults(line);
  // What the CLI wrote in the user's place (a task ended) is what made the model go on.
  if (results.length === 0)
    return isPrompt(line) ? 'prompt_after_question' : isMadeByCli(line) ? 'remove' : 'unclear_line';
  const gone = results.filter((result) => result.toolUseId === toolUseId || removedCalls.has(result.toolUseId));
  if (gone.length === 0) return 'keep';
  return gone.length === results.length ? 'remove' : 'unclear_line';
}

function rewrite(transcript: Transcript, removed: ReadonlySet<number>): ScrubResult {
  const parents = new Map<string, string | undefined>();
  for (const [i, line] of transcript.lines.entries()) {
    if (removed.has(i) && line.uuid !== undefined) parents.set(line.uuid, line.parentUuid);
  }
  const out: Uint8Array[] = [];
  let relinked = 0;
  for (const [i, line] of transcript.lines.entries()) {
    if (removed.has(i)) continue;
    const linked = relink(line, parents);
    if (!linked) return decline('unclear_line');
    if (linked !== line.bytes) relinked += 1;
    const isLast = i === transcript.lines.length - 1;
    out.push(linked, isLast && transcript.endsTorn ? new Uint8Array() : LINE_END);
  }
  return { ok: true, bytes: Buffer.concat(out), removed: removed.size, relinked };
}

const LINE_END = Uint8Array.of(0x0a);
const LINKS = ['parentUuid', 'leafUuid', 'logicalParentUuid'] as const;

/** The line with links to removed lines moved to their nearest kept ancestor; undefined when that is not certain. */
function relink(line: TranscriptLine, parents: ReadonlyMap<string, string | undefined>): Uint8Array | undefined {
  let bytes = line.bytes;
  for (const key of LINKS) {
    const target = asString(line.record?.[key]);
    if (target === undefined || !parents.has(target)) continue;
    const kept = keptAncestor(target, parents);
    const next = replaceOnce(bytes, `"${key}":"${target}"`, `"${key}":${kept === undefined ? 'null' : `"${kept}"`}`);
    if (!next) return undefined;
    bytes = next;
  }
  return bytes;
}

function keptAncestor(uuid: string, parents: ReadonlyMap<string, string | undefined>): string | undefined {
  let at: string | undefined = uuid;
  // A circle of parents would not end by itself.
  for (let steps = parents.size; at !== undefined && parents.has(at); steps -= 1) {
    if (steps < 0) return undefined;
    at = parents.get(at);
  }
  return at;
}

/** Only when the old text stands there exactly once: the same pair deeper inside would be someone else's. */
function replaceOnce(bytes: Uint8Array, before: string, after: string): Uint8Array | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = buffer.indexOf(before);
  if (at === -1 || buffer.indexOf(before, at + 1) !== -1) return undefined;
  return Buffer.concat([buffer.subarray(0, at), Buffer.from(after), buffer.subarray(at + Buffer.byteLength(before))]);
}
