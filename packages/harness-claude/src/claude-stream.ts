// The agent's stdout, as bytes in chunks of any size, into ClaudeMessages. Pure but for its own
// buffer. Lines end at byte 0x0A and nowhere else (U+2028 and U+2029 may stand raw inside a JSON
// string), and are decoded whole, so a chunk may end inside a character. A line over the bound is
// skipped up to its LF and counted; the stream goes on.

import type { ClaudeMessage } from './claude-message.js';
import { parseClaudeLine } from './parse-claude-message.js';

export const MAX_LINE_BYTES = 64 * 1024 * 1024;
const LF = 0x0a;

export interface LineSplitter {
  /** Complete lines of this chunk and what was left before, without LF. */
  push(chunk: Uint8Array): Uint8Array[];
  /** The unfinished last line, when there is one. */
  end(): Uint8Array | undefined;
  readonly oversized: number;
}

export function createLineSplitter(maxLineBytes = MAX_LINE_BYTES): LineSplitter {
  let parts: Uint8Array[] = [];
  let size = 0;
  let skipping = false;
  let oversized = 0;

  const add = (part: Uint8Array) => {
    if (skipping) return;
    if (size + part.length > maxLineBytes) {
      oversized += 1;
      skipping = true;
      parts = [];
      size = 0;
    } else if (part.length > 0) {
      parts.push(part);
      size += part.length;
    }
  };
  const take = (): Uint8Array => {
    const line = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts, size);
    parts = [];
    size = 0;
    return line;
  };

  return {
    push(chunk) {
      const lines: Uint8Array[] = [];
      let start = 0;
      for (let lf = chunk.indexOf(LF); lf !== -1; lf = chunk.indexOf(LF, start)) {
        add(chunk.subarray(start, lf));
        if (skipping) skipping = false;
        else lines.push(take());
        start = lf + 1;
      }
      add(chunk.subarray(start));
      return lines;
    },
    end() {
      skipping = false;
      return size > 0 ? take() : undefined;
    },
    get oversized() {
      return oversized;
    },
  };
}

export interface StreamCounters {
  readonly lines: number;
  /** Types never seen before. */
  readonly unknown: number;
  readonly noise: number;
  readonly oversized: number;
}

export interface ClaudeStream {
  push(chunk: Uint8Array): ClaudeMessage[];
  /** What an unfinished last line held; the CLI ends every line, so this is mostly noise. */
  end(): ClaudeMessage[];
  readonly counters: StreamCounters;
}

export function createClaudeStream(maxLineBytes = MAX_LINE_BYTES): ClaudeStream {
  const splitter = createLineSplitter(maxLineBytes);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let lines = 0;
  let unknown = 0;
  let noise = 0;

  const parse = (raw: readonly Uint8Array[]): ClaudeMessage[] => {
    const messages: ClaudeMessage[] = [];
    for (const bytes of raw) {
      const text = decoder.decode(bytes);
      if (text.trim() === '') continue;
      lines += 1;
      const message = parseClaudeLine(text);
      if (message.type === 'noise') noise += 1;
      if (message.type === 'ignored' && !message.known) unknown += 1;
      messages.push(message);
    }
    return messages;
  };

  return {
    push: (chunk) => parse(splitter.push(chunk)),
    end() {
      const rest = splitter.end();
      return rest ? parse([rest]) : [];
    },
    get counters() {
      return { lines, unknown, noise, oversized: splitter.oversized };
    },
  };
}
