// Several tabs on one session hold one event stream between them: browsers allow six connections to
// a server, and a stream takes one for good. The tab that holds the session's lock leads: it reads
// and passes on what it read, frame by frame. Another tab reads for itself until it has all that the
// leader has, and follows from there.
//
//   own ⇄ following        own + lock = leading
//
// Following is only ever an economy: a gap, a silent leader, a browser without locks or channels, and
// the tab reads for itself from its cursor again. So what a tab shows never depends on another tab.

import {
  type ConnectionState,
  createEventsClient,
  type EventsClient,
  type EventsClientDeps,
  type EventsListener,
  readFrames,
  type StreamItem,
} from './events-client.js';
import { isJsonObject } from './parse-event.js';
import type { SseFrame } from './sse-parser.js';

export interface TabChannel {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  close(): void;
}

export interface TabSharing {
  openChannel(name: string): TabChannel;
  /** Calls `onHeld` once this tab has the lock; the function it returns gives it back, or stops asking. */
  holdLock(name: string, onHeld: () => void): () => void;
}

/** The server's heartbeat makes a leader speak every 15 s, also in a tab whose timers are throttled. */
const LEADER_SILENCE_MS = 40_000;

interface LeaderMessage {
  readonly kind: 'leader';
  /** The newest event the leader has, after these frames. */
  readonly cursor: number;
  readonly connection: ConnectionState;
  readonly frames: readonly SseFrame[];
}
type TabMessage = LeaderMessage | { readonly kind: 'hello' } | { readonly kind: 'retry' };

function parseConnection(value: unknown): ConnectionState | undefined {
  if (!isJsonObject(value)) return undefined;
  const { status, retryAt, reason } = value;
  if (status === 'connecting' || status === 'live') return { status };
  if (status === 'lost' && typeof retryAt === 'number') return { status, retryAt };
  if (status === 'ended' && (reason === 'deleted' || reason === 'not_found' || reason === 'unauthenticated')) {
    return { status, reason };
  }
  return undefined;
}

function isFrame(value: unknown): value is SseFrame {
  return isJsonObject(value) && typeof value.event === 'string' && typeof value.data === 'string';
}

/** Undefined for what an older or newer page may say: then this tab reads for itself. */
function parseMessage(value: unknown): TabMessage | undefined {
  if (!isJsonObject(value)) return undefined;
  if (value.kind === 'hello' || value.kind === 'retry') return { kind: value.kind };
  const connection = parseConnection(value.connection);
  if (value.kind !== 'leader' || typeof value.cursor !== 'number' || connection === undefined) return undefined;
  if (!Array.isArray(value.frames) || !value.frames.every(isFrame)) return undefined;
  return { kind: 'leader', cursor: value.cursor, connection, frames: value.frames };
}

export function createSharedEventsClient(
  name: string,
  url: string,
  since: number,
  listener: EventsListener,
  deps: EventsClientDeps,
  sharing: TabSharing,
): EventsClient {
  const channel = sharing.openChannel(name);
  let cursor = since;
  let connection: ConnectionState = { status: 'connecting' };
  let own: EventsClient | undefined;
  let leading = false;
  let closed = false;
  let cancelWatch: (() => void) | undefined;
  /** Messages that stream here: half of one from each source would not be the message. */
  const streaming = new Set<string>();

  function give(items: readonly StreamItem[]): void {
    for (const item of items) {
      if (item.type === 'chunk') streaming.add(item.chunk.message_id);
      else if (item.type === 'event') settle(item);
    }
    if (items.length > 0) listener.onItems(items);
  }

  function settle({ event: { event } }: Extract<StreamItem, { type: 'event' }>): void {
    if (event.type === 'agent_message') streaming.delete(event.message_id);
    if (event.type === 'run_completed' || event.type === 'run_interrupted') streaming.clear();
  }

  function setConnection(state: ConnectionState): void {
    connection = state;
    listener.onConnection(state);
  }

  function tell(frames: readonly SseFrame[]): void {
    channel.post({ kind: 'leader', cursor, connection, frames } satisfies LeaderMessage);
  }

  function readForItself(): void {
    cancelWatch?.();
    cancelWatch = undefined;
    if (own !== undefined || closed) return;
    own = createEventsClient(
      url,
      cursor,
      {
        onItems: give,
        onConnection(state) {
          setConnection(state);
          if (leading) tell([]);
        },
        onFrames(frames, at) {
          cursor = at;
          if (leading) tell(frames);
        },
      },
      deps,
    );
  }

  function follow(): void {
    own?.close();
    own = undefined;
    cancelWatch?.();
    cancelWatch = deps.delay(readForItself, LEADER_SILENCE_MS);
  }

  function onLeader(message: LeaderMessage): void {
    if (leading) return;
    if (own !== undefined) {
      const caughtUp = message.cursor <= cursor && connection.status === 'live' && streaming.size === 0;
      if (caughtUp && message.connection.status === 'live') follow();
      return;
    }
    const read = readFrames(message.frames, cursor);
    const first = read.items.find((item) => item.type === 'event');
    const gap = first?.type === 'event' && first.event.idx > cursor + 1;
    const rewound = read.items.some((item) => item.type === 'lagged');
    if (gap || rewound || message.cursor > read.cursor) {
      readForItself();
      return;
    }
    cursor = read.cursor;
    give(read.items);
    if (message.connection.status !== connection.status || message.connection.status === 'lost') {
      setConnection(message.connection);
    }
    if (message.connection.status === 'ended') closed = true;
    else follow();
  }

  channel.onMessage((value) => {
    const message = parseMessage(value);
    if (message === undefined || closed) return;
    if (message.kind === 'leader') onLeader(message);
    else if (leading && message.kind === 'hello') tell([]);
    else if (leading) own?.retryNow();
  });
  const giveBack = sharing.holdLock(name, () => {
    if (closed) return;
    leading = true;
    readForItself();
    tell([]);
  });
  readForItself();
  channel.post({ kind: 'hello' } satisfies TabMessage);

  return {
    retryNow() {
      if (own === undefined) channel.post({ kind: 'retry' } satisfies TabMessage);
      else own.retryNow();
    },
    close() {
      closed = true;
      cancelWatch?.();
      own?.close();
      giveBack();
      channel.close();
    },
  };
}

/** What this browser offers for it; undefined outside a secure context and in old browsers. */
export function browserSharing(): TabSharing | undefined {
  if (!('locks' in navigator) || typeof BroadcastChannel === 'undefined') return undefined;
  return {
    openChannel(name) {
      const channel = new BroadcastChannel(name);
      return {
        post: (message) => channel.postMessage(message),
        onMessage: (listener) => channel.addEventListener('message', ({ data }) => listener(data)),
        close: () => channel.close(),
      };
    },
    holdLock(name, onHeld) {
      const asking = new AbortController();
      let release: (() => void) | undefined;
      navigator.locks
        .request(name, { signal: asking.signal }, () => {
          onHeld();
          return new Promise<void>((resolve) => {
            release = resolve;
          });
        })
        // Not asking any more, or no locks for this page: it reads for itself as before.
        .catch(() => undefined);
      return () => {
        release?.();
        asking.abort();
      };
    },
  };
}
