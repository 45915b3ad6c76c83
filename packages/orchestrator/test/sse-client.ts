// A plain SSE reader for tests: every frame as it came, comments counted.

import { type ClientRequest, type IncomingMessage, request } from 'node:http';

export interface SseFrame {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: ReturnType<typeof JSON.parse>;
}

export interface SseReader {
  readonly frames: SseFrame[];
  readonly response: IncomingMessage;
  comments: number;
  readonly ended: Promise<void>;
  /** Resolves when `done` holds for the frames so far. */
  until(done: (frames: readonly SseFrame[]) => boolean, ms?: number): Promise<void>;
  close(): void;
}

function parseFrame(text: string): SseFrame | undefined {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const at = line.indexOf(': ');
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 2));
  }
  const data = fields.get('data');
  return data === undefined
    ? undefined
    : { id: fields.get('id'), event: fields.get('event') ?? 'message', data: JSON.parse(data) };
}

export async function openSse(url: string, headers: Record<string, string>): Promise<SseReader> {
  const { response, sent } = await new Promise<{ response: IncomingMessage; sent: ClientRequest }>(
    (resolve, reject) => {
      const sent = request(url, { headers: { accept: 'text/event-stream', ...headers }, agent: false }, (response) =>
        resolve({ response, sent }),
      );
      sent.on('error', reject);
      sent.end();
    },
  );
  const frames: SseFrame[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  const ended = new Promise<void>((resolve) => response.on('close', resolve));
  response.on('error', () => undefined);
  response.setEncoding('utf8');
  const reader: SseReader = {
    frames,
    response,
    comments: 0,
    ended,
    async until(done, ms = 15_000) {
      const limit = Date.now() + ms;
      while (!done(frames)) {
        const left = limit - Date.now();
        if (left <= 0)
          throw new Error(`not seen in ${ms} ms; have ${frames.length}: ${JSON.stringify(frames.slice(-3))}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.min(left, 200));
          waiting.add(() => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
    },
    close() {
      sent.destroy();
    },
  };
  response.on('data', (text: string) => {
    rest += text;
    const parts = rest.split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      if (part.startsWith(':')) reader.comments += 1;
      const frame = parseFrame(part);
      if (frame !== undefined) frames.push(frame);
    }
    for (const wake of waiting) wake();
    waiting.clear();
  });
  return reader;
}
