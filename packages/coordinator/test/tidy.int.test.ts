// What grows with use is bounded; what somebody may still ask for stays.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Coordinator, PostgresConnection } from '../src/index.js';
import { ada, allEvents, hostInfo, makeSession, makeWaiting } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;
let coordinator: Coordinator;
let connection: PostgresConnection;
beforeAll(async () => {
  database = await startTestDatabase();
  connection = await database.makeDatabase();
  coordinator = await database.createCoordinator({ connection });
});
afterAll(() => database.stop());

const count = async (table: string): Promise<number> =>
  Number((await database.query(connection, `select count(*)::int as n from ${table}`))[0]?.n);

it('removes what is proven and old, keys that have run out and hosts that are gone; the log stays whole', async () => {
  await coordinator.heartbeat(hostInfo('h1'));
  await coordinator.heartbeat(hostInfo('gone'));
  await coordinator.heartbeat(hostInfo('bound'));
  const held = await makeWaiting(coordinator);
  const log = await allEvents(coordinator, held.id);
  const owed = randomUUID();
  await coordinator.acceptPrompt(held.id, { text: 'still owed', prompt_id: owed, by: ada });
  await makeSession(coordinator, { idempotencyKey: 'old' });
  await coordinator.putLoginCode(Buffer.alloc(32, 1), ada, -1_000);
  await coordinator.putLoginCode(Buffer.alloc(32, 2), ada, 60_000);
  await database.query(connection, `update sessions set bound_host = 'bound' where id = $1`, [held.id]);
  await database.query(connection, `insert into session_hosts values ($1, 'gone'), ($2, 'gone')`, [
    held.id,
    randomUUID(),
  ]);
  await coordinator.tidy();
  expect([await count('outbox'), await count('hosts'), await count('idempotency_keys')]).toEqual([2, 3, 1]);

  for (const statement of [
    `update outbox set retired_at = retired_at - interval '31 days', accepted_at = accepted_at - interval '31 days'`,
    `update hosts set seen_at = seen_at - interval '31 days' where host_id <> 'h1'`,
    `update idempotency_keys set created_at = created_at - interval '25 hours'`,
  ])
    await database.query(connection, statement);
  expect(await coordinator.tidy()).toMatchObject({ outbox: 1, hosts: 1, idempotency_keys: 1, session_hosts: 1 });
  expect((await coordinator.listHosts()).map((host) => host.host_id)).toEqual(['bound', 'h1']);
  expect((await coordinator.getSession(held.id))?.undelivered).toMatchObject([{ id: owed }]);
  expect(await count('login_codes')).toBe(1);
  expect((await allEvents(coordinator, held.id)).slice(0, log.length)).toEqual(log);
});
