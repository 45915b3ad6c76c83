// What a host must react to: work that may be claimed, and a change for a session it holds. The
// session's `wish_version` moves with every command, wish and deletion; one reading compares all.

import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { HostWatcher } from '../coordinator.js';
import type { Db } from '../database.js';
import type { Listener } from './listener.js';
import { WORK_CHANNEL } from './notifier.js';
import { createWatchLoop } from './watch-loop.js';

export interface HostWatch {
  watch(hostId: string, watcher: HostWatcher): () => void;
  close(): Promise<void>;
}

interface Watched {
  readonly hostId: string;
  readonly watcher: HostWatcher;
  held: ReadonlyMap<string, number>;
}

/** A claim that follows on news for sessions held here lets them go first. */
const AFTER_CHANGES_MS = 5;

export function createHostWatch(db: Db, listener: Listener, pollMs: number, log: Logger): HostWatch {
  const watched = new Set<Watched>();
  let stopListening: (() => void) | undefined;
  /** Told of claimable work before the reading that this hint starts. */
  const toldAhead = new Set<Watched>();

  async function read(): Promise<void> {
    const ahead = new Set(toldAhead);
    toldAhead.clear();
    for (const each of watched) {
      const { rows } = await sql<{ id: string; wish_version: number }>`
        select id, wish_version from sessions where lease_host = ${each.hostId}`.execute(db);
      const held = new Map(rows.map((row) => [row.id, row.wish_version]));
      const changed = [...new Set([...held.keys(), ...each.held.keys()])].filter(
        (id) => held.get(id) !== each.held.get(id),
      );
      each.held = held;
      if (!watched.has(each)) continue;
      for (const id of changed) each.watcher.onSessionChanged(id);
      if (ahead.has(each)) continue;
      if (changed.length === 0) each.watcher.onClaimable();
      else setTimeout(() => watched.has(each) && each.watcher.onClaimable(), AFTER_CHANGES_MS);
    }
  }

  const loop = createWatchLoop(read, pollMs, log);
  /**
   * A claim looks for itself and need not wait for our reading. A host that holds sessions reads first: an answer for
   * one of them has an agent waiting, and the two would take the processor from each other.
   */
  function hear(): void {
    for (const each of watched) {
      if (each.held.size > 0) continue;
      toldAhead.add(each);
      each.watcher.onClaimable();
    }
    loop.poke();
  }

  /** The host that holds the named session needs neither our reading nor a claim. */
  function hearOf(sessionId: string): void {
    const holders = [...watched].filter((each) => each.held.has(sessionId));
    for (const each of holders) each.watcher.onSessionChanged(sessionId);
    if (holders.length < watched.size) hear();
  }

  const poke = {
    onMessage: (sessionId: string) => (sessionId === '' ? hear() : hearOf(sessionId)),
    onReconnect: hear,
  };

  return {
    watch(hostId, watcher) {
      stopListening ??= listener.listen(WORK_CHANNEL, poke);
      const each: Watched = { hostId, watcher, held: new Map() };
      watched.add(each);
      loop.setActive(true);
      loop.poke();
      return () => {
        watched.delete(each);
        if (watched.size === 0) loop.setActive(false);
      };
    },
    async close() {
      stopListening?.();
      watched.clear();
      await loop.close();
    },
  };
}
