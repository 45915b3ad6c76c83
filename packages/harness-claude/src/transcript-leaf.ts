// Where a resume goes on. The CLI keeps a pointer to the end of the conversation (`last-prompt`, its `leafUuid`) and
// writes it when it leaves. The marker of a parked call and the call's answer are two branches of one line:
//
//   asking ← marker          the pointer, written when the call was parked
//          ← answer ← words ← the next prompt ← …
//
// Killed after the answer, it left the pointer at the marker: the next resume goes on there, and the agent has forgotten
// all that came after the answer (seen on 2.1.183 and 2.1.332). Pure: gives the pointer that is missing.

import { asNonEmptyString } from './json-guards.js';
import { deferredCall, hasToolResult, isPrompt, type Transcript, type TranscriptLine } from './transcript.js';

/** The line to append; undefined when a resume finds the end by itself, or is to go on at a parked call. */
export function missingPointer(transcript: Transcript): Uint8Array | undefined {
  const { lines } = transcript;
  const pointerAt = lines.findLastIndex((line) => leafOf(line) !== undefined);
  const pointer = lines[pointerAt];
  const tipAt = lines.findLastIndex(isSpoken);
  const tip = lines[tipAt];
  if (pointer === undefined || tip === undefined || tipAt < pointerAt) return undefined;
  if (descends(lines, tip, leafOf(pointer)) || isParked(transcript)) return undefined;
  const text = JSON.stringify({ ...pointer.record, leafUuid: tip.uuid });
  return Buffer.from(`${transcript.endsTorn ? '\n' : ''}${text}\n`);
}

/** Where a pointer points. */
export function leafOf({ record }: TranscriptLine): string | undefined {
  return record?.type === 'last-prompt' ? asNonEmptyString(record.leafUuid) : undefined;
}

function isSpoken({ kind, uuid }: TranscriptLine): boolean {
  return (kind === 'user' || kind === 'assistant') && uuid !== undefined;
}

function descends(lines: readonly TranscriptLine[], tip: TranscriptLine, ancestor: string | undefined): boolean {
  const parents = new Map(lines.map(({ uuid, parentUuid }) => [uuid, parentUuid]));
  const seen = new Set<string>();
  // A circle of parents would not end by itself.
  for (let at = tip.uuid; at !== undefined && !seen.has(at); at = parents.get(at)) {
    if (at === ancestor) return true;
    seen.add(at);
  }
  return false;
}

/**
 * The hook of the call must fire again, which it does at its marker alone. Once a prompt was said after it, its answer
 * went out as a message.
 */
function isParked(transcript: Transcript): boolean {
  const { lines } = transcript;
  const markerAt = lines.findLastIndex((line) => deferredCall(line) !== undefined);
  const marker = lines[markerAt];
  const call = marker === undefined ? undefined : deferredCall(marker);
  return call !== undefined && !hasToolResult(transcript, call) && !lines.slice(markerAt).some(isPrompt);
}
