// Event streams against the real log: resume, order, live text, slow readers, deletion, counters.
// Field cases WEB-01, WEB-04, WEB-05, WEB-06.

import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createCoordinator } from '@engram/coordinator';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOrchestrator } from '../src/orchestrator.js';
import { type DoorUnderTest, type FakeRun, holdSession, startDoor } from './door-under-test.js';
import { openSse, type SseFrame, type SseReader } from './sse-client.js';

const silent = pino({ level: 'silent' });

let t: DoorUnderTest;
const open: SseReader[] = [];

beforeAll(async () => {
  t = await startDoor({ heartbeatMs: 300 });
});
afterAll(async () => {
  for (const reader of open) reader.close();
  await t.close();
});

async function newSession(): Promise<string> {
  return (await t.call('POST', '/api/v1/sessions', {})).json.id;
}

async function watch(sessionId: string, query = '', headers: Record<string, string> = {}): Promise<SseReader> {
  const reader = await openSse(`${t.url}/api/v1/sessions/${sessionId}/events${query}`, {
    authorization: `Bearer ${t.token}`,
    ...headers,
  });
  open.push(reader);
  return reader;
}

function say(run: FakeRun, count: number, text = 'hello'): Promise<void> {
  const events = Array.from({ length: count }, (_, i) => ({
    type: 'agent_message' as const,
    run_id: 'r1',
    message_id: `m${i}`,
    role: 'assistant' as const,
    text,
  }));
  return run.tell(...events);
}

const ids = (frames: readonly SseFrame[]) => frames.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const tailOf = async (id: string): Promise<number> =>
  (await t.call('GET', `/api/v1/sessions/${id}`)).json.last_event_idx;
async function figure(name: string): Promise<number> {
  const { text } = await t.call('GET', '/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}
async function settled(name: string, value: number): Promise<void> {
  for (let i = 0; i < 100 && (await figure(name)) !== value; i += 1) await pause(50);
  expect(await figure(name)).toBe(value);
}

describe('an event stream', () => {
  it('tells proxies not to buffer, sends heartbeats, and carries the same JSON as REST', async () => {
    const id = await newSession();
    const run = await holdSession(t.coordinator, id);
    await say(run, 1, 'x\rid: 999\revent: question_answered\n\ndata: {}');
    const reader = await watch(id);
    const tail = await tailOf(id);
    await reader.until((frames) => ids(frames).at(-1) === tail);
    expect(reader.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    const { json } = await t.call('GET', `/api/v1/sessions/${id}/events`);
    expect(reader.frames.map(({ data }) => data)).toEqual(json.events);
    expect(reader.frames.map(({ event, data }) => event === data.type)).not.toContain(false);
    await reader.until(() => reader.comments >= 2);
  });

  it('resumes behind Last-Event-ID with each event once and in order, the larger cursor winning', async () => {
    const id = await newSession();
    const run = await holdSession(t.coordinator, id);
    await run.tell({ type: 'run_started', run_id: 'r1' });
    await say(run, 8);
    const first = await watch(id);
    await first.until((frames) => ids(frames).length >= 10);
    first.close();
    await say(run, 10);
    const tail = await tailOf(id);
    const again = await watch(id, '?since=3', { 'last-event-id': '10' });
    await again.until((frames) => ids(frames).at(-1) === tail);
    await say(run, 3);
    await again.until((frames) => ids(frames).at(-1) === tail + 3);
    expect(ids(again.frames)).toEqual(range(11, tail + 3));
  });

  it('loses and doubles nothing when it is opened while events are stored', async () => {
    const id = await newSession();
    const run = await holdSession(t.coordinator, id);
    const writing = (async () => {
      for (let i = 0; i < 60; i += 1) await say(run, 5);
    })();
    const readers: SseReader[] = [];
    for (let i = 0; i < 10; i += 1) {
      readers.push(await watch(id, `?since=${i}`));
      await pause(5);
    }
    await writing;
    const tail = await tailOf(id);
    for (const [i, reader] of readers.entries()) {
      await reader.until((frames) => ids(frames).at(-1) === tail);
      expect(ids(reader.frames)).toEqual(range(i + 1, tail));
    }
  });

  it('takes a cursor above the tail as the tail, says lagged, and goes on live', async () => {
    const id = await newSession();
    const run = await holdSession(t.coordinator, id);
    const tail = await tailOf(id);
    const reader = await watch(id, '?since=1000000');
    await reader.until((frames) => frames.length > 0);
    expect(reader.frames[0]).toEqual({
      id: undefined,
      event: 'lagged',
      data: { type: 'lagged', last_event_idx: tail },
    });
    await say(run, 2);
    await reader.until((frames) => frames.length === 3);
    expect(ids(reader.frames)).toEqual([tail + 1, tail + 2]);
  });

  it('carries live text without id, and only to those who watch', async () => {
    const id = await newSession();
    const reader = await watch(id, `?since=${await tailOf(id)}`);
    const chunk = { type: 'agent_message_chunk' as const, run_id: 'r', message_id: 'm', chunk: 'He' };
    for (let i = 0; i < 50 && reader.frames.length === 0; i += 1) {
      t.coordinator.publishChunk(id, chunk);
      await pause(50);
    }
    expect(reader.frames[0]).toEqual({ id: undefined, event: 'agent_message_chunk', data: chunk });
  });

  it('ends with session_deleted when the session is deleted', async () => {
    const id = await newSession();
    const reader = await watch(id);
    await reader.until((frames) => frames.length > 0);
    expect((await t.call('DELETE', `/api/v1/sessions/${id}`)).status).toBe(204);
    await reader.ended;
    expect(reader.frames.at(-1)).toMatchObject({ event: 'session_deleted', data: { type: 'session_deleted' } });
  });

  it('neither grows nor holds up others when a reader stops reading, and that reader catches up', async () => {
    const id = await newSession();
    const run = await holdSession(t.coordinator, id);
    const start = await tailOf(id);
    const slow = connect(t.door.port, '127.0.0.1');
    let received = '';
    slow.setEncoding('utf8');
    slow.on('data', (text: string) => {
      received += text;
    });
    slow.write(
      `GET /api/v1/sessions/${id}/events?since=${start} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${t.token}\r\nAccept: text/event-stream\r\n\r\n`,
    );
    const quick = await watch(id, `?since=${start}`);
    while (!received.includes('retry:')) await pause(20);
    slow.pause();
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 40; i += 1) await say(run, 10, 'z'.repeat(60_000));
    const tail = start + 400;
    await quick.until((frames) => ids(frames).at(-1) === tail, 30_000);
    for (let i = 0; i < 20; i += 1) {
      t.coordinator.publishChunk(id, { type: 'agent_message_chunk', run_id: 'r', message_id: 'm', chunk: 'late' });
    }
    await quick.until((frames) => frames.some(({ event }) => event === 'agent_message_chunk'));
    expect(await figure('engram_sse_chunks_dropped_total')).toBeGreaterThan(0);
    slow.resume();
    for (let i = 0; i < 300 && !received.includes(`id: ${tail}\n`); i += 1) await pause(50);
    const seen = [...received.matchAll(/^id: (\d+)$/gm)].map(([, idx]) => Number(idx));
    expect(seen).toEqual(range(start + 1, tail));
    expect(received).toContain('event: lagged\ndata: {"type":"lagged","last_event_idx":');
    expect(received).not.toContain('"chunk":"late"');
    // 24 MB of events passed; the server must not have kept them for the slow reader.
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
    slow.destroy();
  });

  it('goes on at another replica behind the last event seen, live text included', async () => {
    const coordinator = await createCoordinator({ connection: t.postgres.connectionConfig, log: silent });
    const replica = await createOrchestrator({
      desk: coordinator,
      log: silent,
      webRoot: t.webRoot,
      port: 0,
      workspaceRoots: [],
      statusInfo: { version: '0.0.0-test' },
      holdMs: 120_000,
    });
    const id = await newSession();
    const run = await holdSession(t.coordinator, id);
    const writing = (async () => {
      for (let i = 0; i < 60; i += 1) {
        await say(run, 2);
        await pause(5);
      }
    })();
    const seen: number[] = [];
    // From one replica to the other and back, in the middle of a busy session.
    for (let turn = 0; turn < 6; turn += 1) {
      const from = seen.length;
      const reader = await openSse(`${turn % 2 === 0 ? replica.url : t.url}/api/v1/sessions/${id}/events`, {
        authorization: `Bearer ${t.token}`,
        ...(from === 0 ? {} : { 'last-event-id': String(seen.at(-1)) }),
      });
      open.push(reader);
      await reader.until((frames) => ids(frames).length >= 10);
      reader.close();
      seen.push(...ids(reader.frames));
    }
    await writing;
    expect(seen).toEqual(range(1, seen.length));
    const tail = await tailOf(id);
    const last = await openSse(`${replica.url}/api/v1/sessions/${id}/events`, {
      authorization: `Bearer ${t.token}`,
      'last-event-id': String(seen.at(-1)),
    });
    open.push(last);
    await last.until((frames) => ids(frames).at(-1) === tail);
    expect(ids(last.frames)).toEqual(range(seen.length + 1, tail));
    t.coordinator.publishChunk(id, { type: 'agent_message_chunk', run_id: 'r', message_id: 'm', chunk: 'He' });
    await last.until((frames) => frames.some(({ event }) => event === 'agent_message_chunk'));
    last.close();
    await replica.close();
    await coordinator.close();
  });

  it('brings events to all who wait at the tail by one subscription and without a read of the log', async () => {
    const id = await newSession();
    const run = await holdSession(t.coordinator, id);
    await say(run, 5);
    const tail = await tailOf(id);
    t.desk.calls.length = 0;
    const readers = await Promise.all(Array.from({ length: 40 }, () => watch(id, `?since=${tail}`)));
    await Promise.all(readers.map((reader) => reader.until(() => reader.comments > 0)));
    expect(t.desk.calls.filter((name) => name === 'watchSession')).toHaveLength(1);
    t.desk.calls.length = 0;
    for (let i = 0; i < 30; i += 1) await say(run, 1 + (i % 4), i % 10 === 9 ? 'z'.repeat(60_000) : 'x');
    const end = await tailOf(id);
    for (const reader of readers) {
      await reader.until((frames) => ids(frames).at(-1) === end);
      expect(ids(reader.frames)).toEqual(range(tail + 1, end));
    }
    expect(t.desk.calls.filter((name) => name === 'readEventTexts')).toEqual([]);
  });

  it('leaves nothing behind after 1,000 connects and disconnects', async () => {
    const id = await newSession();
    for (const reader of open.splice(0)) reader.close();
    await settled('engram_sse_streams', 0);
    await settled('engram_sse_sessions_watched', 0);
    t.desk.calls.length = 0;
    for (let round = 0; round < 20; round += 1) {
      const readers = await Promise.all(Array.from({ length: 50 }, () => watch(id)));
      await Promise.all(readers.map((reader) => reader.until((frames) => frames.length > 0)));
      for (const reader of readers) reader.close();
    }
    open.length = 0;
    await settled('engram_sse_streams', 0);
    await settled('engram_sse_sessions_watched', 0);
    expect(t.desk.calls.filter((name) => name === 'watchSession').length).toBeLessThanOrEqual(1_000);
    const late = await watch(id);
    await late.until((frames) => frames.length > 0);
  });

  it('is closed by a stop of the server, within seconds', async () => {
    const other = await startDoor();
    const { json } = await other.call('POST', '/api/v1/sessions', {});
    const reader = await openSse(`${other.url}/api/v1/sessions/${json.id}/events`, {
      authorization: `Bearer ${other.token}`,
    });
    await reader.until((frames) => frames.length > 0);
    const started = Date.now();
    await other.door.close();
    await reader.ended;
    expect(Date.now() - started).toBeLessThan(3_000);
    await other.close();
  });
});
