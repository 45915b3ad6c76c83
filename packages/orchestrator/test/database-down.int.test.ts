// The database goes away and comes back: 503 with Retry-After meanwhile, then everything works.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLoginLink } from '../src/browser-login.js';
import { callUrl, type DoorUnderTest, OWNER, startDoor } from './door-under-test.js';
import { openSse } from './sse-client.js';

let t: DoorUnderTest;
beforeAll(async () => {
  t = await startDoor();
});
afterAll(() => t.close());

it('answers 503 unavailable while the database is away, and goes on afterwards', async () => {
  const { json: session } = await t.call('POST', '/api/v1/sessions', { title: 'kept' });
  const link = await createLoginLink(t.coordinator, OWNER, t.url);
  const stream = await openSse(`${t.url}/api/v1/sessions/${session.id}/events`, { authorization: `Bearer ${t.token}` });
  await stream.until((frames) => frames.length === 1);
  await t.postgres.stop();

  for (const [method, path, body] of [
    ['GET', '/api/v1/sessions', undefined],
    ['GET', `/api/v1/sessions/${session.id}`, undefined],
    ['POST', `/api/v1/sessions/${session.id}/prompts`, { text: 'hello' }],
  ] as const) {
    const answer = await t.call(method, path, body);
    expect([answer.status, answer.json.code], path).toEqual([503, 'unavailable']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.text).not.toMatch(/socket|ECONN|pg|sql/i);
  }
  expect((await callUrl(`${t.url}/readyz`, 'GET', {})).status).toBe(503);
  expect((await callUrl(`${t.url}/healthz`, 'GET', {})).status).toBe(200);
  expect((await callUrl(`${t.url}/metrics`, 'GET', {})).text).toContain('engram_database_up 0');
  const page = await callUrl(link.url, 'GET', { accept: 'text/html' });
  expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);

  await t.restartPostgres();
  let status = 0;
  for (let i = 0; i < 100 && status !== 200; i += 1) {
    status = (await t.call('GET', `/api/v1/sessions/${session.id}`)).status;
    if (status !== 200) await pause(100);
  }
  expect(status).toBe(200);
  expect((await callUrl(`${t.url}/readyz`, 'GET', {})).status).toBe(200);
  expect((await callUrl(link.url, 'GET', { accept: 'text/html' })).status).toBe(303);

  // The stream opened before lived through it.
  expect((await t.call('POST', `/api/v1/sessions/${session.id}/prompts`, { text: 'hello' })).status).toBe(202);
  await stream.until((frames) => frames.length === 2);
  expect(stream.frames.map(({ id, event }) => [id, event])).toEqual([
    ['1', 'session_created'],
    ['2', 'prompt_received'],
  ]);
  stream.close();
});
