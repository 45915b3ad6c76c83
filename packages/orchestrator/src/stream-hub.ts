// All open event streams of this process: one feed per session while somebody watches it, one
// heartbeat timer while anybody watches anything. When the last viewer is gone nothing is left.

import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { EventStream, type StreamMeters } from './event-stream.js';
import { type FeedDesk, SessionFeed } from './session-feed.js';

export interface StreamHub {
  /** Streams until the viewer or the session is gone. The response's headers are set, nothing is sent yet. */
  open(sessionId: string, cursor: number, response: ServerResponse): void;
  readonly counts: () => { readonly streams: number; readonly feeds: number };
  isFull(): boolean;
  close(): void;
}

export interface StreamHubDeps {
  readonly desk: FeedDesk;
  readonly log: Logger;
  readonly meters: StreamMeters;
  readonly heartbeatMs?: number;
  readonly maxStreams?: number;
}

export const SSE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

export function createStreamHub({
  desk,
  log,
  meters,
  heartbeatMs = 10_000,
  maxStreams = 20_000,
}: StreamHubDeps): StreamHub {
  const feeds = new Map<string, SessionFeed>();
  const streams = new Set<EventStream>();
  let timer: NodeJS.Timeout | undefined;

  function beat(): void {
    const now = Date.now();
    for (const stream of streams) stream.heartbeat(now);
  }

  function feedOf(sessionId: string): SessionFeed {
    const known = feeds.get(sessionId);
    if (known !== undefined) return known;
    const feed = new SessionFeed(desk, sessionId);
    feeds.set(sessionId, feed);
    return feed;
  }

  function leave(sessionId: string, feed: SessionFeed, stream: EventStream): void {
    streams.delete(stream);
    feed.leave(stream);
    if (feed.viewerCount === 0) {
      feed.close();
      if (feeds.get(sessionId) === feed) feeds.delete(sessionId);
    }
    if (streams.size === 0 && timer !== undefined) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  return {
    open(sessionId, cursor, response) {
      const feed = feedOf(sessionId);
      const stream = new EventStream(response, feed, cursor, meters, (error) => {
        if (error !== undefined) log.warn({ err: error, sessionId }, 'event stream cut: the log could not be read');
        leave(sessionId, feed, stream);
      });
      feed.join(stream);
      streams.add(stream);
      timer ??= setInterval(beat, heartbeatMs);
      response.writeHead(200, SSE_HEADERS);
      stream.start();
    },
    counts: () => ({ streams: streams.size, feeds: feeds.size }),
    isFull: () => streams.size >= maxStreams,
    close() {
      for (const stream of streams) stream.end();
    },
  };
}
