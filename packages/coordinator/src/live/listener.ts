// The one LISTEN connection of a process. It is probed, because a half-open connection stays
// silent for ever, and made anew when it is lost; then its users read again, for what they missed
// in between left no trace here.

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { type ConnectionSource, toClientConfig } from '../database.js';

const PROBE_EVERY_MS = 5_000;
const PROBE_TIMEOUT_MS = 2_000;
const RETRY_FIRST_MS = 100;
const RETRY_LAST_MS = 2_000;

export interface Listener {
  /** `onMessage` gets the payload; `onLost` is called after each reconnect. Gives the way to stop. */
  listen(channel: string, user: { onMessage(payload: string): void; onReconnect(): void }): () => void;
  close(): Promise<void>;
}

type User = Parameters<Listener['listen']>[1];

export function createListener(source: ConnectionSource, log: Logger, probeEveryMs = PROBE_EVERY_MS): Listener {
  const users = new Map<string, Set<User>>();
  const stopping = new AbortController();
  let client: pg.Client | undefined;
  let running: Promise<void> | undefined;

  /** Holds one connection until it breaks. */
  async function hold(isFirst: boolean): Promise<void> {
    const mine = new pg.Client({
      ...toClientConfig(source),
      connectionTimeoutMillis: 5_000,
      query_timeout: PROBE_TIMEOUT_MS,
    });
    const broken = new Promise<void>((resolve) => {
      mine.on('error', () => resolve());
      mine.on('end', () => resolve());
    });
    mine.on('notification', ({ channel, payload }) => {
      for (const user of users.get(channel) ?? []) user.onMessage(payload ?? '');
    });
    try {
      await mine.connect();
      for (const channel of users.keys()) await mine.query(`listen ${channel}`);
      client = mine;
      if (!isFirst) log.info('listening to the database again');
      for (const each of users.values()) for (const user of each) user.onReconnect();
      await Promise.race([broken, probe(mine)]);
    } finally {
      client = undefined;
      await end(mine);
    }
  }

  async function probe(mine: pg.Client): Promise<never> {
    for (;;) {
      await delay(probeEveryMs, undefined, { signal: stopping.signal, ref: false });
      await mine.query('select 1');
    }
  }

  async function run(): Promise<void> {
    let wait = RETRY_FIRST_MS;
    for (let isFirst = true; !stopping.signal.aborted; isFirst = false) {
      const startedAt = Date.now();
      await hold(isFirst).catch(() => undefined);
      if (stopping.signal.aborted) return;
      wait = Date.now() - startedAt > RETRY_LAST_MS ? RETRY_FIRST_MS : Math.min(wait * 2, RETRY_LAST_MS);
      log.warn({ retryMs: wait }, 'the listening connection was lost');
      await delay(wait, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  }

  return {
    listen(channel, user) {
      const known = users.get(channel);
      if (known === undefined) {
        users.set(channel, new Set([user]));
        // A failure here breaks the connection, and the next one listens to every channel.
        client?.query(`listen ${channel}`).then(
          () => user.onReconnect(),
          () => client?.end(),
        );
      } else known.add(user);
      running ??= run();
      return () => {
        users.get(channel)?.delete(user);
      };
    },
    async close() {
      stopping.abort();
      await running;
    },
  };
}

/** A dead peer never answers the farewell, so it is not waited for. */
async function end(client: pg.Client): Promise<void> {
  await Promise.race([client.end().catch(() => undefined), delay(500, undefined, { ref: false })]);
}
