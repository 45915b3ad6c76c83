// One viewer's SSE stream, written to the raw response: the log by cursor to its very tail, then
// live. It takes what the feed has at hand and reads a page only when the last one has left for the
// socket, so a slow reader costs one page at most and holds up nobody. Live text (chunks) is dropped
// while the socket is full; the reader is then told `lagged` and goes on from the log.
//
//   reading ─(at the tail)─► live ─(news)─► writing ─(socket full)─► waiting ─(drained)─► writing …
//   any ─(deleted, closed, stalled)─► ended

import type { ServerResponse } from 'node:http';
import type { FeedViewer, Piece, ReadPage, SessionFeed } from './session-feed.js';
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

export class EventStream implements FeedViewer {
  readonly #response: ServerResponse;
  readonly #feed: SessionFeed;
  readonly #meters: StreamMeters;
  readonly #onEnd: (error?: unknown) => void;
  #cursor: number;
  /** What of a page has not left yet. */
  #owed: readonly Piece[] = [];
  #state: 'reading' | 'live' | 'writing' | 'waiting' | 'ended' = 'writing';
  #first = true;
  /** Chunks are for those who were at the tail. */
  #wasLive = false;
  #dropped = false;
  /** Its socket was full since it was at the tail. */
  #slow = false;
  #stalledSince: number | undefined;

  /** `onEnd` is called once, with what the log threw if that ended it. */
  constructor(
    response: ServerResponse,
    feed: SessionFeed,
    cursor: number,
    meters: StreamMeters,
    onEnd: (error?: unknown) => void,
  ) {
    this.#response = response;
    this.#feed = feed;
    this.#cursor = cursor;
    this.#meters = meters;
    this.#onEnd = onEnd;
    response.on('drain', () => {
      this.#stalledSince = undefined;
      if (this.#state === 'waiting') this.#pump();
    });
    response.on('close', () => this.#over());
    response.on('error', () => response.destroy());
  }

  /** The response's headers are sent. */
  start(): void {
    this.#write(STREAM_HEAD);
    this.#pump();
  }

  end(): void {
    if (this.#state === 'ended') return;
    this.#response.end();
    this.#over();
  }

  onNews(): void {
    if (this.#state === 'live') this.#pump();
  }

  onChunk(bytes: Buffer): void {
    if (this.#state === 'ended' || !this.#wasLive) return;
    if (this.#state === 'live' && !this.#response.writableNeedDrain) {
      this.#write(bytes);
      return;
    }
    this.#dropped = true;
    this.#meters.chunkDropped();
    if (this.#state === 'live') this.#state = 'waiting';
  }

  /** Called every few seconds: keeps proxies from closing the link, cuts off a reader that stopped. */
  heartbeat(now: number): void {
    if (this.#state === 'ended') return;
    if (!this.#response.writableNeedDrain) this.#write(HEARTBEAT);
    else if (this.#stalledSince !== undefined && now - this.#stalledSince > STALL_MS) this.#response.destroy();
  }

  /** Writes until the tail, a full socket, or a place whose page must be read first. */
  #pump(): void {
    this.#state = 'writing';
    while (this.#state === 'writing') {
      if (this.#response.writableNeedDrain) {
        this.#state = 'waiting';
        this.#slow = this.#wasLive;
        return;
      }
      if (this.#dropped) this.#tellLagged(this.#cursor);
      if (this.#owed.length === 0 && !this.#takeMore()) return;
      const [piece, ...rest] = this.#owed;
      this.#owed = rest;
      if (piece !== undefined) this.#send(piece);
    }
  }

  /** False: nothing to write now; somebody will call again, or it is over. */
  #takeMore(): boolean {
    const taken = this.#feed.take(this.#cursor);
    switch (taken) {
      case 'tail':
        this.#state = 'live';
        this.#first = false;
        this.#wasLive = true;
        this.#slow = false;
        return false;
      case 'gone':
        this.#tellDeleted();
        return false;
      case 'unread':
        // So slow that what it missed is at hand no more.
        if (this.#slow) this.#tellLagged(this.#cursor);
        this.#state = 'reading';
        void this.#read();
        return false;
      default:
        this.#owed = taken;
        this.#first = false;
        return true;
    }
  }

  async #read(): Promise<void> {
    let page: ReadPage;
    try {
      page = await this.#feed.read(this.#cursor);
    } catch (error) {
      if (this.#state === 'ended') return;
      if (isUnavailable(error)) setTimeout(() => this.#retry(), RETRY_MS).unref();
      else this.#fail(error);
      return;
    }
    if (this.#state !== 'reading') return;
    const { pieces, tail } = page;
    if (tail === 0 && pieces.length === 0) {
      this.#tellDeleted();
      return;
    }
    if (this.#first && this.#cursor > tail) {
      this.#cursor = tail;
      this.#tellLagged(tail);
    }
    this.#first = false;
    this.#owed = pieces;
    // Nothing was there and something should have been: whatever that is, it is not asked without pause.
    if (pieces.length === 0 && this.#feed.take(this.#cursor) === 'unread')
      setTimeout(() => this.#retry(), RETRY_MS).unref();
    else this.#pump();
  }

  #retry(): void {
    if (this.#state === 'reading') this.#pump();
  }

  #send({ bytes, upTo, last }: Piece): void {
    this.#write(bytes);
    this.#cursor = upTo;
    if (last) this.end();
  }

  #write(bytes: Buffer | string): void {
    if (this.#response.write(bytes)) return;
    this.#stalledSince ??= Date.now();
  }

  #tellLagged(lastEventIdx: number): void {
    this.#dropped = false;
    this.#slow = false;
    this.#meters.lagged();
    this.#write(encodeLagged(lastEventIdx));
  }

  #tellDeleted(): void {
    this.#write(encodeDeleted(this.#cursor + 1, new Date().toISOString()));
    this.end();
  }

  #fail(error: unknown): void {
    this.#over(error);
    this.#response.destroy();
  }

  #over(error?: unknown): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#owed = [];
    this.#onEnd(error);
  }
}
