// The living side of one open session: connects the event stream to the pure store and tells React.
// Items are applied once per frame, so a fast stream is at most one render per frame. Logs of the
// sessions visited last are kept, so going back continues at the cursor instead of from the start.

import { useEffect, useState, useSyncExternalStore } from 'react';
import { api } from './api-client.js';
import {
  type ConnectionState,
  createEventsClient,
  type EventsClient,
  type EventsClientDeps,
  type EventsListener,
  type StreamItem,
} from './events-client.js';
import { EMPTY_LOG, reduceLog, type SessionLog } from './session-store.js';
import { browserSharing, createSharedEventsClient } from './shared-events.js';

export interface FeedState {
  readonly log: SessionLog;
  readonly connection: ConnectionState;
  /** The stored past has been read at least once: an empty log means an empty session. */
  readonly caughtUp: boolean;
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
    set({ ...state, connection, caughtUp: state.caughtUp });
  }

  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    getState: () => state,
    retryNow: () => client?.retryNow(),
    open() {
      const listener: EventsListener = { onItems, onConnection };
      const sharing = browserSharing();
      client =
        sharing === undefined
          ? createEventsClient(api.eventsUrl(id), state.log.lastIdx, listener, DEPS)
          : createSharedEventsClient(
              `engram.events.${id}`,
              api.eventsUrl(id),
              state.log.lastIdx,
              listener,
              DEPS,
              sharing,
            );
      const retry = () => client?.retryNow();
      const onVisible = () => {
        if (!document.hidden) retry();
      };
      addEventListener('online', retry);
      document.addEventListener('visibilitychange', onVisible);
      return () => {
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
