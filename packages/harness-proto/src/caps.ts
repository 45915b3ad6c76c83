// How much of a text travels in an event. What is cut is told in the event's own fields
// (`truncated_bytes`, `truncation`), never only by a marker in the text.

/** Largest frame body; checked before allocation and before writing. */
export const FRAME_BYTES_MAX = 16 * 1024 * 1024;

export const ARGS_SUMMARY_BYTES_MAX = 1024;
export const RESULT_SUMMARY_BYTES_MAX = 4 * 1024;
export const MESSAGE_TEXT_BYTES_MAX = 64 * 1024;
export const CHUNK_BYTES_MAX = 6 * 1024;
/** For each inner string of a file change: written content, each side of an edit, each patch line. */
export const FILE_CONTENT_BYTES_MAX = 64 * 1024;
/** For one whole event; above it trailing hunks are dropped and counted. Far below the frame cap. */
export const EVENT_BYTES_MAX = 1024 * 1024;

export interface TruncatedText {
  readonly text: string;
  /** UTF-8 bytes left out; 0 when the text is whole. */
  readonly droppedBytes: number;
}

const encoder = new TextEncoder();

/** The longest beginning of `text` that has at most `maxBytes` UTF-8 bytes and ends between characters. */
export function truncateUtf8(text: string, maxBytes: number): TruncatedText {
  // a UTF-16 unit takes at most three bytes
  if (text.length * 3 <= maxBytes) return { text, droppedBytes: 0 };
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes <= maxBytes) return { text, droppedBytes: 0 };
  const { read, written } = encoder.encodeInto(text, Buffer.allocUnsafe(Math.max(0, maxBytes)));
  return { text: text.slice(0, read), droppedBytes: bytes - written };
}
