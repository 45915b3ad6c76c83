// One viewer's SSE stream, written to the raw response: the log by cursor to its very tail, then
// live. It pulls: the next page is read only when the last one has left for the socket, so a slow
// reader costs one page at most. Live text (chunks) is dropped while the socket is full; the reader
// is then told `lagged` and goes on from the log.
//
//   replaying ─(tail reached)─► live ─(news)─► reads on …   any ─(deleted, closed, stalled)─► ended

import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { FeedViewer, Frame, FramePage, SessionFeed } from './session-feed.js';
import { encodeDeleted, encodeLagged, HEARTBEAT, STREAM_HEAD } from './sse-frames.js';
import { isUnavailable } from './to-problem.js';

export interface StreamMeters {
  chunkDropped(): void;
  lagged(): void;
}

/** Between two looks at a database that is away. The viewer keeps its stream and hears heartbeats. */
const RETRY_MS = 500;
/** A reader that takes nothing for this long is cut off; it comes back with its cursor. */
const STALL_MS = 60_000;
const BATCH_CHARS = 64 * 1024;

export class EventStream implements FeedViewer {
  readonly #response: ServerResponse;
  readonly #feed: SessionFeed;
  readonly #meters: StreamMeters;
  #cursor: number;
  #live = false;
  #ended = false;
  #dropped = false;
  #stalledSince: number | undefined;
  #wake: (() => void) | undefined;

  constructor(response: ServerResponse, feed: SessionFeed, cursor: number, meters: StreamMeters) {
    this.#response = response;
    this.#feed = feed;
    this.#cursor = cursor;
    this.#meters = meters;
    response.on('drain', () => {
      this.#stalledSince = undefined;
      this.#wakeUp();
    });
    response.on('close', () => {
      this.#ended = true;
      this.#wakeUp();
    });
    response.on('error', () => response.destroy());
  }

  /** Resolves when the stream is over. Throws what the log throws; the caller then cuts the response. */
  async run(): Promise<void> {
    this.#write(STREAM_HEAD);
    let first = true;
    while (!this.#ended) {
      await this.#drained();
      if (this.#ended) return;
      if (this.#dropped) this.#tellLagged(this.#cursor);
      const seen = this.#feed.version;
      const page = await this.#read();
      if (this.#ended) return;
      if (page === undefined) continue;
      const { frames, tail } = page;
      if (first && this.#cursor > tail && tail > 0) {
        this.#cursor = tail;
        this.#tellLagged(tail);
      }
      first = false;
      if (frames.length > 0) {
        await this.#send(frames);
      } else if (this.#feed.deleted || tail === 0) {
        this.#write(encodeDeleted(this.#cursor + 1, new Date().toISOString()));
        this.end();
      } else if (this.#feed.version === seen) {
        this.#live = true;
        await this.#news(seen);
      }
    }
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#response.end();
    this.#wakeUp();
  }

  onNews(): void {
    this.#wakeUp();
  }

  onChunk(text: string): void {
    if (this.#ended || !this.#live) return;
    if (this.#response.writableNeedDrain) {
      this.#dropped = true;
      this.#meters.chunkDropped();
      return;
    }
    this.#write(text);
  }

  /** Called every few seconds: keeps proxies from closing the link, cuts off a reader that stopped. */
  heartbeat(now: number): void {
    if (this.#ended) return;
    if (!this.#response.writableNeedDrain) this.#write(HEARTBEAT);
    else if (this.#stalledSince !== undefined && now - this.#stalledSince > STALL_MS) this.#response.destroy();
  }

  /** Undefined after a pause when the database is away. */
  async #read(): Promise<FramePage | undefined> {
    try {
      return await this.#feed.framesAfter(this.#cursor);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      await pause(RETRY_MS);
      return undefined;
    }
  }

  async #send(frames: readonly Frame[]): Promise<void> {
    let batch = '';
    for (const frame of frames) {
      if (frame.idx <= this.#cursor) continue;
      batch += frame.text;
      this.#cursor = frame.idx;
      if (frame.last) {
        this.#write(batch);
        this.end();
        return;
      }
      if (batch.length < BATCH_CHARS) continue;
      this.#write(batch);
      batch = '';
      await this.#drained();
      if (this.#ended) return;
    }
    if (batch !== '') this.#write(batch);
  }

  #write(text: string): void {
    if (this.#response.write(text)) return;
    this.#stalledSince ??= Date.now();
  }

  #tellLagged(lastEventIdx: number): void {
    this.#dropped = false;
    this.#meters.lagged();
    this.#write(encodeLagged(lastEventIdx));
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #drained(): Promise<void> {
    while (!this.#ended && this.#response.writableNeedDrain) await this.#sleep();
  }

  async #news(seen: number): Promise<void> {
    while (!this.#ended && this.#feed.version === seen && !this.#dropped) await this.#sleep();
  }
}
