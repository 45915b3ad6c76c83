// Caps on text that leaves the harness. Sizes are UTF-8 bytes; a cut never splits a character, and
// what was cut is told in bytes, so that the event can say so in a field of its own.

export const ARGS_SUMMARY_BYTES = 1024;
export const RESULT_SUMMARY_BYTES = 4096;
export const MESSAGE_TEXT_BYTES = 64 * 1024;
export const CHUNK_BYTES = 6 * 1024;
export const INNER_STRING_BYTES = 64 * 1024;
export const EVENT_BUDGET_BYTES = 512 * 1024;

export interface CutText {
  readonly text: string;
  /** Bytes left out; 0 when the text is whole. */
  readonly dropped: number;
}

export function cutText(text: string, maxBytes: number): CutText {
  // A UTF-16 unit is at most 3 bytes of UTF-8.
  if (text.length * 3 <= maxBytes) return { text, dropped: 0 };
  const total = Buffer.byteLength(text);
  if (total <= maxBytes) return { text, dropped: 0 };
  const end = prefixLength(text, maxBytes);
  const kept = text.slice(0, end);
  return { text: kept, dropped: total - Buffer.byteLength(kept) };
}

/** The text in pieces of at most `maxBytes`. */
export function splitText(text: string, maxBytes: number): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest !== '') {
    const end = rest.length * 3 <= maxBytes ? rest.length : Math.max(1, prefixLength(rest, maxBytes));
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return pieces;
}

/** UTF-16 length of the longest prefix of whole characters within `maxBytes`. */
function prefixLength(text: string, maxBytes: number): number {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return read;
}
