// Server-sent events, bytes to frames. Pure but for the decoder's own buffer. Lines end at LF
// only (a CR before it is dropped): U+2028 and other separators inside JSON are content.

export interface SseFrame {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface SseParser {
  /** Frames completed by these bytes. A frame cut by the end of a connection is never given out. */
  push(bytes: Uint8Array): SseFrame[];
}

export function createSseParser(): SseParser {
  const decoder = new TextDecoder();
  let rest = '';
  let id: string | undefined;
  let event = 'message';
  let data: string[] = [];

  function takeLine(line: string): SseFrame | undefined {
    if (line === '') {
      const frame = data.length > 0 ? { id, event, data: data.join('\n') } : undefined;
      id = undefined;
      event = 'message';
      data = [];
      return frame;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const raw = colon === -1 ? '' : line.slice(colon + 1);
    const value = raw.startsWith(' ') ? raw.slice(1) : raw;
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id') id = value;
    return undefined;
  }

  return {
    push(bytes) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      const frames: SseFrame[] = [];
      for (const line of lines) {
        const frame = takeLine(line.endsWith('\r') ? line.slice(0, -1) : line);
        if (frame !== undefined) frames.push(frame);
      }
      return frames;
    },
  };
}
