// What the viewers of one session share: one subscription at the desk, one read of the log per
// news, one serialisation per event. Frames of the newest events stay in a small window, so that
// viewers at the tail do not read the database; whoever is further behind reads its own pages.
//
//   desk.onEvents (a hint) ─► version + 1, viewers woken ─► framesAfter(cursor) ─► window, else log

import type { SessionDesk } from '@engram/coordinator';
import type { AgentMessageChunk } from '@engram/harness-proto';
import { encodeChunk, encodeStored } from './sse-frames.js';

export interface Frame {
  readonly idx: number;
  readonly text: string;
  /** The log ends here. */
  readonly last: boolean;
}

export interface FramePage {
  readonly frames: readonly Frame[];
  /** Newest idx known at that moment; at least as new as the frames. */
  readonly tail: number;
}

export interface FeedViewer {
  /** Something may be new: look at `version`, then read by cursor. */
  onNews(): void;
  onChunk(text: string): void;
}

const PAGE = 500;
const WINDOW_FRAMES = 256;
const WINDOW_CHARS = 512 * 1024;

export class SessionFeed {
  readonly #desk: Pick<SessionDesk, 'readEvents' | 'watchSession'>;
  readonly #sessionId: string;
  readonly #viewers = new Set<FeedViewer>();
  readonly #unwatch: () => void;
  #window: Frame[] = [];
  #windowChars = 0;
  #reading: { readonly since: number; readonly version: number; readonly page: Promise<FramePage> } | undefined;
  /** The tail as of a version: while that is current there is nothing behind it. */
  #tail: { readonly version: number; readonly idx: number } | undefined;
  #version = 0;
  #deleted = false;

  constructor(desk: Pick<SessionDesk, 'readEvents' | 'watchSession'>, sessionId: string) {
    this.#desk = desk;
    this.#sessionId = sessionId;
    this.#unwatch = desk.watchSession(sessionId, {
      onEvents: () => this.#news(),
      onChunk: (chunk) => this.#chunk(chunk),
      onDeleted: () => {
        this.#deleted = true;
        this.#news();
      },
    });
  }

  /** Grows with every hint; read it before the log, compare it after. */
  get version(): number {
    return this.#version;
  }

  get deleted(): boolean {
    return this.#deleted;
  }

  get viewerCount(): number {
    return this.#viewers.size;
  }

  join(viewer: FeedViewer): void {
    this.#viewers.add(viewer);
  }

  leave(viewer: FeedViewer): void {
    this.#viewers.delete(viewer);
  }

  close(): void {
    this.#unwatch();
    this.#window = [];
  }

  /** Frames with idx > since, oldest first. Empty: the tail was reached (or the log is gone). */
  framesAfter(since: number): Promise<FramePage> {
    const known = this.#tail;
    if (known?.version === this.#version && known.idx === since) {
      return Promise.resolve({ frames: [], tail: since });
    }
    const windowed = this.#fromWindow(since);
    if (windowed !== undefined) return Promise.resolve(windowed);
    // Viewers at the same place share one read, unless it began before the newest hint: such a read
    // may miss what the hint was about, and nobody would hint again.
    const shared = this.#reading;
    if (shared?.since === since && shared.version === this.#version) return shared.page;
    const page = this.#read(since);
    const reading = { since, version: this.#version, page };
    this.#reading = reading;
    return page.finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
  }

  #fromWindow(since: number): FramePage | undefined {
    const first = this.#window[0];
    const newest = this.#window.at(-1);
    if (first === undefined || newest === undefined || since < first.idx - 1 || since >= newest.idx) return undefined;
    return { frames: this.#window.slice(since - first.idx + 1), tail: newest.idx };
  }

  async #read(since: number): Promise<FramePage> {
    const version = this.#version;
    const { events, tail } = await this.#desk.readEvents(this.#sessionId, since, PAGE);
    const frames = events.map((stored) => ({
      idx: stored.idx,
      text: encodeStored(stored),
      last: stored.event.type === 'session_deleted',
    }));
    const newest = frames.at(-1)?.idx ?? 0;
    const reached = newest >= tail || (frames.length === 0 && since >= tail);
    if (reached) this.#keep(frames);
    if (reached && tail > 0) this.#tail = { version, idx: Math.max(tail, newest) };
    return { frames, tail: Math.max(tail, newest) };
  }

  /** The window is always one unbroken piece that ends at the newest frame read so far. */
  #keep(frames: readonly Frame[]): void {
    const newest = this.#window.at(-1)?.idx;
    const fresh = newest === undefined ? frames : frames.filter((frame) => frame.idx > newest);
    const head = fresh[0];
    if (head === undefined) return;
    if (newest !== undefined && head.idx !== newest + 1) {
      this.#window = [];
      this.#windowChars = 0;
    }
    for (const frame of fresh) {
      this.#window.push(frame);
      this.#windowChars += frame.text.length;
    }
    let drop = 0;
    while (this.#window.length - drop > WINDOW_FRAMES || this.#windowChars > WINDOW_CHARS) {
      const oldest = this.#window[drop];
      if (oldest === undefined) break;
      this.#windowChars -= oldest.text.length;
      drop += 1;
    }
    if (drop > 0) this.#window.splice(0, drop);
  }

  #news(): void {
    this.#version += 1;
    for (const viewer of this.#viewers) viewer.onNews();
  }

  #chunk(chunk: AgentMessageChunk): void {
    if (this.#viewers.size === 0) return;
    const text = encodeChunk(chunk);
    for (const viewer of this.#viewers) viewer.onChunk(text);
  }
}
