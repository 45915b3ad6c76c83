// The living side of one open session: connects the event stream to the pure store and tells React.
// Items are applied once per frame, so a fast stream is at most one render per frame. The end of the
// log is read first, the stream goes on from there, and the past comes in behind. Logs of the sessions
// visited last are kept, so going back continues at the cursor instead of from the start.

import { useEffect, useState, useSyncExternalStore } from 'react';
import { api } from './api-client.js';
import type { LogEvent } from './api-types.js';
import {
  type ConnectionState,
  createEventsClient,
  type EventsClient,
  type EventsClientDeps,
  type EventsListener,
  type StreamItem,
} from './events-client.js';
import { END_EVENTS, FROM_THE_END, readEarlier } from './read-earlier.js';
import { EMPTY_LOG, logFromEnd, reduceLog, type SessionLog, withEarlier } from './session-store.js';
import { browserSharing, createSharedEventsClient } from './shared-events.js';

export interface FeedState {
  readonly log: SessionLog;
  readonly connection: ConnectionState;
  /** The log's end has been read at least once: an empty log means an empty session. */
  readonly caughtUp: boolean;
}

type EndOfLog = Promise<readonly LogEvent[] | undefined>;
const asked = new Map<string, EndOfLog>();

function askForEnd(id: string): EndOfLog {
  // Whatever goes wrong here, the stream then reads from the start and says what is wrong.
  return api.eventsBefore(id, FROM_THE_END, END_EVENTS).catch(() => undefined);
}

/** Asks for a session's end before anything can show it: the page's own code is still being read. */
export function prefetchSession(id: string): void {
  asked.set(id, askForEnd(id));
}

export interface SessionFeed {
  subscribe(listener: () => void): () => void;
  getState(): FeedState;
  retryNow(): void;
}

const DEPS: EventsClientDeps = {
  fetch: (url, init) => fetch(url, init),
  now: () => Date.now(),
  delay: (task, ms) => {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
  random: Math.random,
};

const KEPT_LOGS = 6;
const kept = new Map<string, SessionLog>();

function keepLog(id: string, log: SessionLog): void {
  kept.delete(id);
  kept.set(id, { ...log, live: [] });
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT_LOGS) return;
    kept.delete(oldest);
  }
}

function createSessionFeed(id: string): SessionFeed & { open(): () => void } {
  const start = kept.get(id) ?? EMPTY_LOG;
  let state: FeedState = { log: start, connection: { status: 'connecting' }, caughtUp: start.lastIdx > 0 };
  let pending: StreamItem[] = [];
  let client: EventsClient | undefined;
  let frame: number | undefined;
  let completing = false;
  const listeners = new Set<() => void>();

  function set(next: FeedState): void {
    state = next;
    for (const listener of listeners) listener();
  }

  function flush(): void {
    frame = undefined;
    const items = pending;
    pending = [];
    const log = reduceLog(state.log, items);
    if (log !== state.log) set({ ...state, log, caughtUp: true });
  }

  function onItems(items: readonly StreamItem[]): void {
    pending.push(...items);
    // A hidden page gets no frames; a timer still comes.
    frame ??= window.setTimeout(flush, document.hidden ? 250 : 16);
  }

  function onConnection(connection: ConnectionState): void {
    set({ ...state, connection });
  }

  function completePast(isClosed: () => boolean): void {
    if (completing || state.log.firstIdx === 1) return;
    completing = true;
    void readEarlier({
      page: (before, limit) => api.eventsBefore(id, before, limit),
      held: () => ({ firstIdx: state.log.firstIdx, count: state.log.events.length }),
      take: (events) => set({ ...state, log: withEarlier(state.log, events) }),
      pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      isOver: () => isClosed() || state.connection.status === 'ended',
    }).finally(() => {
      completing = false;
    });
  }

  function connect(): EventsClient {
    const listener: EventsListener = { onItems, onConnection };
    const url = api.eventsUrl(id);
    const since = state.log.lastIdx;
    const sharing = browserSharing();
    if (sharing === undefined) return createEventsClient(url, since, listener, DEPS);
    return createSharedEventsClient(`engram.events.${id}`, url, since, listener, DEPS, sharing);
  }

  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    getState: () => state,
    retryNow: () => client?.retryNow(),
    open() {
      let closed = false;
      const isClosed = () => closed;
      const watchPast = () => completePast(isClosed);
      listeners.add(watchPast);
      const begin = () => {
        client = connect();
        completePast(isClosed);
      };
      if (state.log.lastIdx > 0) begin();
      else {
        const end = asked.get(id) ?? askForEnd(id);
        asked.delete(id);
        void end.then((events) => {
          if (closed) return;
          if (events !== undefined) set({ ...state, log: logFromEnd(events), caughtUp: true });
          begin();
        });
      }
      const retry = () => client?.retryNow();
      const onVisible = () => {
        if (!document.hidden) retry();
      };
      addEventListener('online', retry);
      document.addEventListener('visibilitychange', onVisible);
      return () => {
        closed = true;
        listeners.delete(watchPast);
        removeEventListener('online', retry);
        document.removeEventListener('visibilitychange', onVisible);
        client?.close();
        if (frame !== undefined) clearTimeout(frame);
        frame = undefined;
        pending = [];
        keepLog(id, state.log);
      };
    },
  };
}

/** One feed per mounted session view; the caller gives it a key by session id. */
export function useSessionFeed(id: string): FeedState & { retryNow(): void } {
  const [feed] = useState(() => createSessionFeed(id));
  useEffect(() => feed.open(), [feed]);
  const state = useSyncExternalStore(feed.subscribe, feed.getState);
  return { ...state, retryNow: feed.retryNow };
}
