// Live views of sessions. One reading asks for all watched sessions at once whose newest index moved
// and brings the events behind the one that was told last, each made into text once for all of its
// viewers. A watcher is told when its session's tail moved, and once when the session is gone.

import type { AgentMessageChunk } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { isUuid } from '../cursor.js';
import type { Prepared } from '../database.js';
import { hasEvent, TEXT_COLUMNS, toEventText } from '../event-text.js';
import type { EventText } from '../session-events.js';
import { parseChunks } from './chunks.js';
import type { Listener } from './listener.js';
import { CHUNKS_CHANNEL, EVENTS_CHANNEL } from './notifier.js';
import { createWatchLoop } from './watch-loop.js';

export interface SessionWatcher {
  onEvents(tail: number, fresh: readonly EventText[]): void;
  onChunk(chunk: AgentMessageChunk): void;
  onDeleted(): void;
}

export interface SessionWatch {
  watch(sessionId: string, watcher: SessionWatcher): () => void;
  /** Watchers there are now: back to where it was when all have gone. */
  count(): number;
  close(): Promise<void>;
}

/** What one reading brings at most, of one session and of all; what is more is read by cursor. */
const MAX_FRESH_EVENTS = 200;
const MAX_FRESH_BYTES = 2 * 1024 * 1024;

/** A session that did not move gives no row; one that is gone gives a row without an index. */
const READ = `
  select e.slot, e.last_idx, ${TEXT_COLUMNS}
  from (
    select w.slot, w.tail, s.last_idx, v.*, coalesce(sum(v.size) over (order by w.slot, v.idx), 0) as upto
    from unnest($1::uuid[], $2::bigint[]) with ordinality as w (id, tail, slot)
    left join sessions s on s.id = w.id
    left join lateral (
      select * from events where session_id = s.id and idx > w.tail order by idx limit ${MAX_FRESH_EVENTS}
    ) v on w.tail >= 0 and s.last_idx > w.tail
    where s.id is null or s.last_idx <> w.tail
  ) e
  where e.upto <= ${MAX_FRESH_BYTES} or e.idx = e.tail + 1
  order by e.slot, e.idx`;

interface Row {
  readonly slot: number;
  readonly last_idx: number | null;
  readonly idx: number | null;
}

interface Watched {
  readonly watchers: Set<Joined>;
  /** What was told last; -1 before the first time. */
  tail: number;
}

interface Joined {
  readonly watcher: SessionWatcher;
  told: boolean;
}

export function createSessionWatch(prepared: Prepared, listener: Listener, pollMs: number, log: Logger): SessionWatch {
  const watched = new Map<string, Watched>();
  let stopListening: readonly (() => void)[] | undefined;

  async function read(): Promise<void> {
    const asked = [...watched].filter(([id]) => isUuid(id));
    const tails = asked.map(([, { tail }]) => tail);
    for (const [id] of watched) if (!isUuid(id)) tellGone(id);
    if (asked.length === 0) return;
    const ids = asked.map(([id]) => id);
    const rows = await prepared<Row>('watch_sessions', READ, [`{${ids.join(',')}}`, `{${tails.join(',')}}`]);
    for (let from = 0; from < rows.length; ) {
      const slot = rows[from]?.slot ?? 0;
      let to = from + 1;
      while (rows[to]?.slot === slot) to += 1;
      const one = asked[slot - 1];
      if (one !== undefined) tellRows(one[0], one[1], tails[slot - 1] ?? -1, rows.slice(from, to));
      from = to;
    }
    for (const [id, session] of asked) tellNew(id, session);
  }

  function tellRows(id: string, session: Watched, since: number, rows: readonly Row[]): void {
    const tail = rows[0]?.last_idx ?? null;
    if (watched.get(id) !== session) return;
    if (tail === null) {
      tellGone(id);
      return;
    }
    const fresh = rows.filter(hasEvent).map(toEventText);
    session.tail = tail;
    for (const each of [...session.watchers]) {
      each.told = true;
      each.watcher.onEvents(tail, since < 0 ? [] : fresh);
    }
  }

  /** Those who came since the last reading hear where the tail is, also when it did not move. */
  function tellNew(id: string, session: Watched): void {
    if (session.tail < 0 || watched.get(id) !== session) return;
    for (const each of [...session.watchers]) {
      if (each.told) continue;
      each.told = true;
      each.watcher.onEvents(session.tail, []);
    }
  }

  function tellGone(id: string): void {
    const session = watched.get(id);
    watched.delete(id);
    if (watched.size === 0) loop.setActive(false);
    for (const each of session?.watchers ?? []) each.watcher.onDeleted();
  }

  const loop = createWatchLoop(read, pollMs, log);
  const poke = { onMessage: () => loop.poke(), onReconnect: () => loop.poke() };
  const chunks = {
    onMessage: (payload: string) => {
      for (const { sessionId, chunk } of parseChunks(payload)) {
        for (const { watcher } of watched.get(sessionId)?.watchers ?? []) watcher.onChunk(chunk);
      }
    },
    onReconnect: () => undefined,
  };

  return {
    watch(sessionId, watcher) {
      stopListening ??= [listener.listen(EVENTS_CHANNEL, poke), listener.listen(CHUNKS_CHANNEL, chunks)];
      const id = sessionId.toLowerCase();
      const each: Joined = { watcher, told: false };
      const session = watched.get(id) ?? { watchers: new Set(), tail: -1 };
      watched.set(id, session);
      session.watchers.add(each);
      loop.setActive(true);
      // The first reading always tells, so nothing falls between reading and watching.
      loop.poke();
      return () => {
        session.watchers.delete(each);
        if (session.watchers.size === 0 && watched.get(id) === session) watched.delete(id);
        if (watched.size === 0) loop.setActive(false);
      };
    },
    count: () => [...watched.values()].reduce((sum, { watchers }) => sum + watchers.size, 0),
    async close() {
      for (const stop of stopListening ?? []) stop();
      watched.clear();
      await loop.close();
    },
  };
}
