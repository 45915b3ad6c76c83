import { describe, expect, it } from 'vitest';
import { type ConnectionState, createEventsClient, retryDelayMs, type StreamItem } from '../src/events-client.js';
import { createSseParser } from '../src/sse-parser.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const frame = (idx: number, type = 'harness_idle') =>
  `id: ${idx}\nevent: ${type}\ndata: ${JSON.stringify({ idx, type, at: '2030-05-04T12:00:00Z' })}\n\n`;

describe('SSE parser', () => {
  it('gives the same frames however the bytes are cut', () => {
    const text = `: heartbeat\n\n${frame(1)}id: 2\r\nevent: x\r\ndata: {"a":"é😀"}\r\n\r\n`;
    const whole = createSseParser().push(bytes(text));
    const raw = bytes(text);
    for (let size = 1; size < 9; size += 1) {
      const parser = createSseParser();
      const frames = [];
      for (let at = 0; at < raw.length; at += size) frames.push(...parser.push(raw.slice(at, at + size)));
      expect(frames).toEqual(whole);
    }
    expect(whole.map(({ id, event }) => [id, event])).toEqual([
      ['1', 'harness_idle'],
      ['2', 'x'],
    ]);
  });

  it('splits at LF only: separators and a lone CR inside the data are content', () => {
    const [first] = createSseParser().push(bytes('data: "a\u2028b\u2029c\rid: 999"\n\n'));
    expect(first).toEqual({ id: undefined, event: 'message', data: '"a\u2028b\u2029c\rid: 999"' });
  });

  it('gives nothing for a frame that the connection cut', () => {
    expect(createSseParser().push(bytes('id: 1\nevent: x\ndata: {"a":1'))).toEqual([]);
  });
});

/** A server with scripted connections, and a clock that only moves when a timer is taken. */
function harness(connections: readonly (string | number)[]) {
  const requests: { url: string; lastEventId: string | null }[] = [];
  const items: StreamItem[] = [];
  const states: ConnectionState[] = [];
  const timers: (() => void)[] = [];
  const client = createEventsClient(
    '/events',
    5,
    { onItems: (batch) => items.push(...batch), onConnection: (state) => states.push(state) },
    {
      fetch: async (url, init) => {
        const answer = connections[requests.length];
        requests.push({ url, lastEventId: new Headers(init.headers).get('last-event-id') });
        if (answer === undefined) return new Promise<Response>(() => undefined);
        if (typeof answer === 'number') return new Response('', { status: answer });
        return new Response(answer, { status: 200 });
      },
      now: () => 1_000,
      delay: (task, ms) => {
        if (ms > 30_000) return () => undefined;
        timers.push(task);
        return () => undefined;
      },
      random: () => 0,
    },
  );
  const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
  return { client, requests, items, states, timers, settle };
}
const idxs = (items: readonly StreamItem[]) => items.flatMap((i) => (i.type === 'event' ? [i.event.idx] : []));

describe('events client', () => {
  it('asks after a drop for exactly what is missing', async () => {
    const h = harness([frame(6) + frame(7) + frame(8), frame(9) + frame(10)]);
    await h.settle();
    h.timers.shift()?.();
    await h.settle();
    expect(h.requests).toEqual([
      { url: '/events?since=5', lastEventId: '5' },
      { url: '/events?since=8', lastEventId: '8' },
    ]);
    expect(idxs(h.items)).toEqual([6, 7, 8, 9, 10]);
  });

  it('drops what the server sends again', async () => {
    const h = harness([frame(4) + frame(5) + frame(6), frame(5) + frame(6) + frame(7)]);
    await h.settle();
    h.timers.shift()?.();
    await h.settle();
    expect(idxs(h.items)).toEqual([6, 7]);
  });

  it('says when it tries again, and waits longer each time', async () => {
    const h = harness([503, 503]);
    await h.settle();
    h.timers.shift()?.();
    await h.settle();
    expect(h.states).toEqual([
      { status: 'connecting' },
      { status: 'lost', retryAt: 2_000 },
      { status: 'connecting' },
      { status: 'lost', retryAt: 3_000 },
    ]);
    expect([1, 2, 3, 4, 5, 9].map((n) => retryDelayMs(n, 0))).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    expect(retryDelayMs(3, 1)).toBe(3_000);
  });

  it('ends for good when it may not read, and when the session is gone', async () => {
    for (const [status, reason] of [
      [401, 'unauthenticated'],
      [404, 'not_found'],
    ] as const) {
      const h = harness([status]);
      await h.settle();
      expect(h.states.at(-1)).toEqual({ status: 'ended', reason });
      expect(h.timers).toEqual([]);
    }
    const deleted = harness([frame(6) + frame(7, 'session_deleted')]);
    await deleted.settle();
    expect(deleted.states.at(-1)).toEqual({ status: 'ended', reason: 'deleted' });
  });

  it('tries at once when asked, and only once', async () => {
    const h = harness([503]);
    await h.settle();
    h.client.retryNow();
    h.client.retryNow();
    await h.settle();
    expect(h.requests).toHaveLength(2);
  });

  it('passes chunks on without moving the cursor, and skips what it cannot read', async () => {
    const chunk = 'event: agent_message_chunk\ndata: {"run_id":"r","message_id":"m","chunk":"Hi"}\n\n';
    const h = harness([`${chunk}data: not json\n\n${frame(6)}`]);
    await h.settle();
    expect(h.items.map((item) => item.type)).toEqual(['chunk', 'event']);
  });
});
