// The figures answer: how many wait for a person, how many for a host and since when, and are there hosts.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Coordinator } from '../src/index.js';
import { ada, claimOne, hostInfo, makeSession, makeWaiting } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;
let coordinator: Coordinator;
let query: (text: string) => Promise<readonly Record<string, unknown>[]>;
beforeAll(async () => {
  database = await startTestDatabase();
  const connection = await database.makeDatabase();
  coordinator = await database.createCoordinator({ connection });
  query = (text) => database.query(connection, text);
});
afterAll(() => database.stop());

it('tell what waits for a host from what waits for a person, and hosts that left from hosts that are lost', async () => {
  expect(await coordinator.figures()).toEqual({
    sessionsByStatus: {},
    questionsWaiting: 0,
    undeliveredCommands: 0,
    oldestUndeliveredMs: 0,
    unhandedCommands: 0,
    oldestUnhandedMs: 0,
    hosts: { alive: 0, draining: 0, lost: 0 },
    hostSlots: 0,
    sessionsAwake: 0,
    chunksDropped: 0,
  });
  await makeWaiting(coordinator);
  const { id } = await makeSession(coordinator);
  await coordinator.acceptPrompt(id, { text: 'go', prompt_id: randomUUID(), by: ada });
  await query(`update outbox set accepted_at = accepted_at - interval '90 seconds' where session_id = '${id}'`);
  const waiting = await coordinator.figures();
  expect(waiting).toMatchObject({ questionsWaiting: 1, undeliveredCommands: 1, unhandedCommands: 1, sessionsAwake: 0 });
  expect(waiting.oldestUnhandedMs).toBeGreaterThan(80_000);

  const held = await claimOne(coordinator, id);
  await coordinator.attachFacts(id, held.epoch);
  const handed = await coordinator.figures();
  expect(handed).toMatchObject({ undeliveredCommands: 1, unhandedCommands: 0, oldestUnhandedMs: 0, sessionsAwake: 1 });
  expect(handed.oldestUndeliveredMs).toBeGreaterThan(80_000);

  for (const name of ['h1', 'h2', 'h3']) await coordinator.heartbeat(hostInfo(name, { slots: 4 }));
  await coordinator.drainHost('h2', true);
  await query(`update hosts set seen_at = seen_at - interval '1 minute' where host_id = 'h3'`);
  expect(await coordinator.figures()).toMatchObject({ hosts: { alive: 2, draining: 1, lost: 1 }, hostSlots: 4 });

  // Live text that a NOTIFY cannot hold is left out, and the host's next beat says so.
  const chunk = { type: 'agent_message_chunk', run_id: 'r', message_id: 'm', chunk: 'x'.repeat(100_000) } as const;
  coordinator.publishChunk(id, chunk);
  await expect
    .poll(async () => {
      await coordinator.heartbeat(hostInfo('h1', { slots: 4 }));
      return (await coordinator.figures()).chunksDropped;
    })
    .toBe(1);
});
