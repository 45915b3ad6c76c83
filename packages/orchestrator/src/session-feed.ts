// What the viewers of one session share: one subscription at the desk, one text and one buffer per
// event however many look. News come with their events and go to every viewer at the tail at once;
// frames of the newest stay in a small window for those a little behind; whoever is further behind
// reads pages of the log, those at the same place together.
//
//   desk.onEvents(tail, fresh) ─► window ─► viewers woken ─► take(cursor): pieces | tail | unread | gone

import type { EventText, SessionDesk } from '@engram/coordinator';
import type { AgentMessageChunk } from '@engram/harness-proto';
import { encodeChunk, encodeEvent } from './sse-frames.js';

export type FeedDesk = Pick<SessionDesk, 'readEventTexts' | 'watchSession'>;

/** Frames in one buffer, shared by all viewers that need them: never changed. */
export interface Piece {
  readonly bytes: Buffer;
  /** The idx of its last frame. */
  readonly upTo: number;
  /** The log ends here. */
  readonly last: boolean;
}

/** `tail`: nothing behind the cursor yet. `unread`: not at hand, see `read`. `gone`: there is no log any more. */
export type Taken = readonly Piece[] | 'tail' | 'unread' | 'gone';

export interface FeedViewer {
  /** Something may be new: take by cursor. */
  onNews(): void;
  onChunk(bytes: Buffer): void;
}

interface Frame {
  readonly idx: number;
  readonly text: string;
  readonly last: boolean;
}

const PAGE = 500;
const WINDOW_FRAMES = 256;
const WINDOW_CHARS = 128 * 1024;
const PIECE_CHARS = 64 * 1024;

export class SessionFeed {
  readonly #desk: FeedDesk;
  readonly #sessionId: string;
  readonly #viewers = new Set<FeedViewer>();
  readonly #unwatch: () => void;
  /** One unbroken row of frames that ends at the newest one known. */
  #window: Frame[] = [];
  #windowChars = 0;
  /** The newest idx known; undefined before anything was heard. Never falls. */
  #tail: number | undefined;
  #deleted = false;
  /** What was made of the frames behind a place: most viewers are at the same one. */
  #made: { readonly since: number; readonly pieces: readonly Piece[] } | undefined;
  readonly #reads = new Map<number, Promise<ReadPage>>();

  constructor(desk: FeedDesk, sessionId: string) {
    this.#desk = desk;
    this.#sessionId = sessionId;
    this.#unwatch = desk.watchSession(sessionId, {
      onEvents: (tail, fresh) => this.#news(tail, fresh),
      onChunk: (chunk) => this.#chunk(chunk),
      onDeleted: () => {
        this.#deleted = true;
        this.#wakeViewers();
      },
    });
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
    this.#made = undefined;
  }

  /** What is behind this cursor, without asking the database. */
  take(since: number): Taken {
    if (this.#tail === since && !this.#deleted) return 'tail';
    if (this.#made?.since === since) return this.#made.pieces;
    const first = this.#window[0];
    const newest = this.#window.at(-1);
    if (first !== undefined && newest !== undefined && since >= first.idx - 1 && since < newest.idx) {
      const pieces = toPieces(this.#window.slice(since - first.idx + 1));
      this.#made = { since, pieces };
      return pieces;
    }
    // A cursor above the known tail may come from a reader that knows more than was heard here so far.
    return this.#deleted ? 'gone' : 'unread';
  }

  /** A page of the log behind this cursor; afterwards `take` knows at least as much. */
  read(since: number): Promise<ReadPage> {
    const known = this.#reads.get(since);
    if (known !== undefined) return known;
    const reading = this.#read(since).finally(() => this.#reads.delete(since));
    this.#reads.set(since, reading);
    return reading;
  }

  async #read(since: number): Promise<ReadPage> {
    const { events, tail } = await this.#desk.readEventTexts(this.#sessionId, { since }, PAGE);
    const frames = events.map(toFrame);
    if (tail > 0) this.#tail = Math.max(tail, this.#tail ?? 0);
    if (frames.at(-1)?.idx === this.#tail) this.#keep(frames);
    return { pieces: toPieces(frames), tail };
  }

  #news(tail: number, fresh: readonly EventText[]): void {
    const before = this.#tail;
    this.#tail = Math.max(tail, before ?? 0);
    this.#made = undefined;
    const frames = fresh.map(toFrame);
    this.#keep(frames);
    // More than the window holds is still at hand for all who wait at the old tail.
    const head = frames[0];
    if (head !== undefined && before === head.idx - 1) this.#made = { since: before, pieces: toPieces(frames) };
    this.#wakeViewers();
    this.#made = undefined;
  }

  #wakeViewers(): void {
    for (const viewer of this.#viewers) viewer.onNews();
  }

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

  #chunk(chunk: AgentMessageChunk): void {
    if (this.#viewers.size === 0) return;
    const bytes = Buffer.from(encodeChunk(chunk));
    for (const viewer of this.#viewers) viewer.onChunk(bytes);
  }
}

export interface ReadPage {
  /** Empty: there was nothing behind the cursor. */
  readonly pieces: readonly Piece[];
  /** The newest idx at that moment; 0 when there is no such session. */
  readonly tail: number;
}

function toFrame(event: EventText): Frame {
  return { idx: event.idx, text: encodeEvent(event), last: event.kind === 'session_deleted' };
}

/** Few pieces, none much larger than a socket takes at a time. */
function toPieces(frames: readonly Frame[]): readonly Piece[] {
  const pieces: Piece[] = [];
  let text = '';
  for (const [at, { idx, text: one, last }] of frames.entries()) {
    text += one;
    if (text.length < PIECE_CHARS && at < frames.length - 1 && !last) continue;
    pieces.push({ bytes: Buffer.from(text), upTo: idx, last });
    text = '';
    if (last) break;
  }
  return pieces;
}
