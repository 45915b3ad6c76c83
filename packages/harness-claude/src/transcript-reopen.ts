// A question whose hook was held when its harness died. The CLI then asks nobody: the hook "fails", the permission
// channel is closed, and it writes that failure down as the call's result; 2.1.183 even lets the model go on. A resume
// would not fire the hook again. Pure: takes the conversation back to the marker of the parked call, from where it does
// (measured on 2.1.183 and 2.1.332). It declines when anything else happened since: then the answer goes out as a message.

import { QUESTION_TOOL } from './question-input.js';
import { isDeferredMarker, isPrompt, parseTranscript, type Transcript, toolResults, toolUses } from './transcript.js';
import { leafOf } from './transcript-leaf.js';

/** 2.1.183; 2.1.332. */
const ASKED_NOBODY = /^(Tool permission request failed: |<tool_use_error>Error calling tool \(AskUserQuestion\))/;
const LINE_END = Uint8Array.of(0x0a);

/** The conversation up to the marker; undefined when the call is not to be opened again. */
export function withCallReopened(bytes: Uint8Array, toolUseId: string): Uint8Array | undefined {
  const transcript = parseTranscript(bytes);
  const { lines } = transcript;
  const markerAt = lines.findLastIndex((line) => isDeferredMarker(line, toolUseId));
  const marker = lines[markerAt];
  if (marker?.uuid === undefined || !isUnasked(transcript, markerAt, toolUseId)) return undefined;
  const pointer = lines.slice(markerAt).find((line) => leafOf(line) === marker.uuid);
  const kept = [...lines.slice(0, markerAt + 1), ...(pointer === undefined ? [] : [pointer])];
  return Buffer.concat(kept.flatMap((line) => [line.bytes, LINE_END]));
}

/** Behind the marker there is a result of the call, and nothing that anybody said, did or was told. */
function isUnasked({ lines }: Transcript, markerAt: number, toolUseId: string): boolean {
  const since = lines.slice(markerAt + 1);
  const results = lines.flatMap(toolResults).filter((result) => result.toolUseId === toolUseId);
  const others = since.flatMap(toolResults);
  return (
    results.length > 0 &&
    [...results, ...others].every((result) => ASKED_NOBODY.test(result.text)) &&
    since.flatMap(toolUses).every((use) => use.name === QUESTION_TOOL) &&
    !since.some((line) => isPrompt(line) || line.record?.isSidechain === true)
  );
}
