// What a conversation says about the user must have happened. An agent whose harness was killed while
// its question's first hook was held takes that for a refusal and writes "the user doesn't want to
// proceed" and "interrupted by user" into its file. Pure: puts in their place what did happen, in the
// last turn only, and leaves every other byte as it is.

import { asArray, asRecord, asString, type JsonRecord } from './json-guards.js';
import { isMadeByCli, isPrompt, parseTranscript, type TranscriptLine, toolResults } from './transcript.js';

const REFUSED = /^The user doesn't want to (proceed|take this action)/;
const INTERRUPTED = /^\[Request interrupted by user/;
export const NOT_MADE =
  'This call was not made: the program between you and the user was restarted. The user has not seen it and has decided nothing.';
export const CUT_OFF = '[You were cut off here by a restart, not by the user.]';

/** `changed`: so many lines said what did not happen. Only for a run that nobody interrupted. */
export function withTrueRecord(bytes: Uint8Array): { readonly bytes: Uint8Array; readonly changed: number } {
  const { lines, endsTorn } = parseTranscript(bytes);
  const last = lines.findLastIndex(isPrompt);
  let changed = 0;
  const parts = lines.flatMap((line, at) => {
    const mended = at > last ? mend(line) : undefined;
    if (mended) changed += 1;
    const own = mended ? Buffer.from(JSON.stringify(mended)) : line.bytes;
    return at === lines.length - 1 && endsTorn ? [own] : [own, Buffer.from('\n')];
  });
  return changed === 0 ? { bytes, changed } : { bytes: Buffer.concat(parts), changed };
}

function mend(line: TranscriptLine): JsonRecord | undefined {
  const { record } = line;
  const message = asRecord(record?.message);
  if (record === undefined || message === undefined || line.kind !== 'user') return undefined;
  if (toolResults(line).some((result) => REFUSED.test(result.text))) {
    const content = (asArray(message.content) ?? []).map((block) => {
      const one = asRecord(block);
      return one?.type === 'tool_result' && REFUSED.test(asString(one.content) ?? '')
        ? { ...one, content: NOT_MADE }
        : block;
    });
    const told = record.toolUseResult === undefined ? {} : { toolUseResult: NOT_MADE };
    return { ...record, ...told, message: { ...message, content } };
  }
  if (!isMadeByCli(line) || !isMark(message.content)) return undefined;
  return { ...record, isMeta: true, message: { ...message, content: [{ type: 'text', text: CUT_OFF }] } };
}

function isMark(content: unknown): boolean {
  if (typeof content === 'string') return INTERRUPTED.test(content);
  return (asArray(content) ?? []).some((block) => INTERRUPTED.test(asString(asRecord(block)?.text) ?? ''));
}
