// One session's event stream: fetch → frames → events. The cursor moves with every event given
// out, so a reconnect asks for exactly what is missing; what the server sends twice is dropped.
// Events are handed over in batches (one per network read), so a long backlog is few renders.
//
//   connecting → live ⇄ lost (waits, then connecting again) → ended (deleted, or not allowed)

import type { LogEvent } from './api-types.js';
import { isJsonObject, parseChunk, parseLogEvent } from './parse-event.js';
import { createSseParser, type SseFrame } from './sse-parser.js';
import type { AgentMessageChunk } from './wire-types.js';

export type ConnectionState =
  | { readonly status: 'connecting' }
  | { readonly status: 'live' }
  | { readonly status: 'lost'; readonly retryAt: number }
  | { readonly status: 'ended'; readonly reason: 'deleted' | 'not_found' | 'unauthenticated' };

export type StreamItem =
  | { readonly type: 'event'; readonly event: LogEvent }
  | { readonly type: 'chunk'; readonly chunk: AgentMessageChunk }
  | { readonly type: 'lagged'; readonly lastEventIdx: number };

export interface EventsListener {
  onItems(items: readonly StreamItem[]): void;
  onConnection(state: ConnectionState): void;
  /** After each read, also one without an event: what came, and the cursor now. */
  onFrames?(frames: readonly SseFrame[], cursor: number): void;
}

export interface EventsClientDeps {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly now: () => number;
  /** Runs `task` after `ms`; returns the cancel function. */
  readonly delay: (task: () => void, ms: number) => () => void;
  readonly random: () => number;
}

/** No byte for this long means that the link is dead: the server sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;

/** 1, 2, 4, … 15 s, each with up to a quarter taken off so that many pages do not return at once. */
export function retryDelayMs(failures: number, random: number): number {
  const full = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, failures - 1));
  return Math.round(full * (1 - random / 4));
}

export interface EventsClient {
  /** Tries again now (the network came back, the page was shown). */
  retryNow(): void;
  close(): void;
}

/** What one frame holds, given the cursor. Undefined: nothing to show (already seen, not ours). */
export function toStreamItem(frame: SseFrame, cursor: number): StreamItem | undefined {
  let value: unknown;
  try {
    value = JSON.parse(frame.data);
  } catch {
    return undefined;
  }
  if (frame.event === 'agent_message_chunk') {
    const chunk = parseChunk(value);
    return chunk === undefined ? undefined : { type: 'chunk', chunk };
  }
  if (frame.event === 'lagged') {
    const tail = isJsonObject(value) ? value.last_event_idx : undefined;
    return typeof tail === 'number' ? { type: 'lagged', lastEventIdx: tail } : undefined;
  }
  const event = parseLogEvent(value);
  return event === undefined || event.idx <= cursor ? undefined : { type: 'event', event };
}

export interface ReadFrames {
  readonly items: readonly StreamItem[];
  readonly cursor: number;
  readonly deleted: boolean;
}

/** What frames hold that is not known yet, and where the cursor is behind them. */
export function readFrames(frames: readonly SseFrame[], since: number): ReadFrames {
  const items: StreamItem[] = [];
  let cursor = since;
  let deleted = false;
  for (const frame of frames) {
    deleted ||= frame.event === 'session_deleted';
    const item = toStreamItem(frame, cursor);
    if (item === undefined) continue;
    if (item.type === 'event') {
      cursor = item.event.idx;
      deleted ||= item.event.event.type === 'session_deleted';
    }
    if (item.type === 'lagged') cursor = Math.min(cursor, item.lastEventIdx);
    items.push(item);
  }
  return { items, cursor, deleted };
}

export function createEventsClient(
  url: string,
  since: number,
  listener: EventsListener,
  deps: EventsClientDeps,
): EventsClient {
  let cursor = since;
  let failures = 0;
  let closed = false;
  let cancelRetry: (() => void) | undefined;
  let abort: AbortController | undefined;

  function take(frames: readonly SseFrame[]): boolean {
    const read = readFrames(frames, cursor);
    cursor = read.cursor;
    if (read.items.length > 0) listener.onItems(read.items);
    listener.onFrames?.(frames, cursor);
    return read.deleted;
  }

  function end(reason: 'deleted' | 'not_found' | 'unauthenticated'): void {
    closed = true;
    listener.onConnection({ status: 'ended', reason });
  }

  async function read(response: Response, controller: AbortController): Promise<void> {
    const reader = response.body?.getReader();
    if (reader === undefined) return;
    const parser = createSseParser();
    for (;;) {
      const cancelSilence = deps.delay(() => controller.abort(), SILENCE_MS);
      const { done, value } = await reader.read().finally(cancelSilence);
      if (done || closed) return;
      failures = 0;
      if (take(parser.push(value))) return end('deleted');
    }
  }

  async function connect(): Promise<void> {
    cancelRetry = undefined;
    const controller = new AbortController();
    abort = controller;
    listener.onConnection({ status: 'connecting' });
    try {
      const response = await deps.fetch(`${url}?since=${cursor}`, {
        headers: { accept: 'text/event-stream', 'last-event-id': String(cursor) },
        credentials: 'same-origin',
        cache: 'no-store',
        signal: controller.signal,
      });
      if (response.status === 401) return end('unauthenticated');
      if (response.status === 404) return end('not_found');
      if (response.ok) {
        listener.onConnection({ status: 'live' });
        await read(response, controller);
      }
    } catch {
      // The reason does not matter: whatever broke the link, the next attempt starts at the cursor.
    }
    if (closed) return;
    failures += 1;
    const waitMs = retryDelayMs(failures, deps.random());
    listener.onConnection({ status: 'lost', retryAt: deps.now() + waitMs });
    cancelRetry = deps.delay(() => void connect(), waitMs);
  }

  void connect();
  return {
    retryNow() {
      if (closed || cancelRetry === undefined) return;
      cancelRetry();
      void connect();
    },
    close() {
      closed = true;
      cancelRetry?.();
      abort?.abort();
    },
  };
}
