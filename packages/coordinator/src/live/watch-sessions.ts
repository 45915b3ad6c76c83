// Live views of sessions. One reading asks for the newest index of every watched session at once;
// a watcher is told when its session's moved, and once when the session is gone.

import type { AgentMessageChunk } from '@engram/harness-proto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { isUuid } from '../cursor.js';
import type { Db } from '../database.js';
import { parseChunks } from './chunks.js';
import type { Listener } from './listener.js';
import { CHUNKS_CHANNEL, EVENTS_CHANNEL } from './notifier.js';
import { createWatchLoop } from './watch-loop.js';

export interface SessionWatcher {
  onEvents(tail: number): void;
  onChunk(chunk: AgentMessageChunk): void;
  onDeleted(): void;
}

export interface SessionWatch {
  watch(sessionId: string, watcher: SessionWatcher): () => void;
  /** Watchers there are now: back to where it was when all have gone. */
  count(): number;
  close(): Promise<void>;
}

interface Watched {
  readonly watcher: SessionWatcher;
  tail: number;
}

export function createSessionWatch(db: Db, listener: Listener, pollMs: number, log: Logger): SessionWatch {
  const watched = new Map<string, Set<Watched>>();
  let stopListening: readonly (() => void)[] | undefined;

  async function read(): Promise<void> {
    const ids = [...watched.keys()];
    if (ids.length === 0) return;
    const { rows } = await sql<{ id: string; last_idx: number }>`
      select id, last_idx from sessions where id = any(${ids.filter(isUuid)}::uuid[])`.execute(db);
    const tails = new Map(rows.map((row) => [row.id, row.last_idx]));
    for (const id of ids) tell(id, tails.get(id.toLowerCase()));
  }

  function tell(id: string, tail: number | undefined): void {
    for (const each of watched.get(id) ?? []) {
      if (tail === undefined) {
        remove(id, each);
        each.watcher.onDeleted();
      } else if (tail !== each.tail) {
        each.tail = tail;
        each.watcher.onEvents(tail);
      }
    }
  }

  const loop = createWatchLoop(read, pollMs, log);
  const poke = { onMessage: () => loop.poke(), onReconnect: () => loop.poke() };
  const chunks = {
    onMessage: (payload: string) => {
      for (const { sessionId, chunk } of parseChunks(payload)) {
        for (const { watcher } of watched.get(sessionId) ?? []) watcher.onChunk(chunk);
      }
    },
    onReconnect: () => undefined,
  };

  function remove(id: string, each: Watched): void {
    const set = watched.get(id);
    set?.delete(each);
    if (set?.size === 0) watched.delete(id);
    if (watched.size === 0) loop.setActive(false);
  }

  return {
    watch(sessionId, watcher) {
      stopListening ??= [listener.listen(EVENTS_CHANNEL, poke), listener.listen(CHUNKS_CHANNEL, chunks)];
      // No index is -1: the first reading always tells, so nothing falls between reading and watching.
      const each: Watched = { watcher, tail: -1 };
      const set = watched.get(sessionId);
      if (set === undefined) watched.set(sessionId, new Set([each]));
      else set.add(each);
      loop.setActive(true);
      loop.poke();
      return () => remove(sessionId, each);
    },
    count: () => [...watched.values()].reduce((sum, set) => sum + set.size, 0),
    async close() {
      for (const stop of stopListening ?? []) stop();
      watched.clear();
      await loop.close();
    },
  };
}
