import { beforeEach, describe, expect, it } from 'vitest';
import type { ConnectionState, EventsClient, StreamItem } from '../src/events-client.js';
import { createSharedEventsClient, type TabChannel, type TabSharing } from '../src/shared-events.js';

const frame = (idx: number, fields: object = { type: 'harness_idle' }) =>
  `id: ${idx}\nevent: x\ndata: ${JSON.stringify({ idx, at: '2030-05-04T12:00:00Z', ...fields })}\n\n`;
const chunk = (text: string) =>
  `event: agent_message_chunk\ndata: ${JSON.stringify({ run_id: 'r', message_id: 'm', chunk: text })}\n\n`;

/** One browser: a server whose open streams are counted, channels between tabs, and one lock. */
class Browser {
  log: string[] = [];
  readonly streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  readonly #channels = new Set<{ channel: TabChannel; listener: (message: unknown) => void }>();
  #waiting: { onHeld: () => void }[] = [];
  readonly timers = new Set<{ task: () => void; ms: number }>();
  deaf = false;

  readonly sharing: TabSharing = {
    openChannel: () => {
      const entry = {
        listener: (message: unknown) => void message,
        channel: {
          post: (message: unknown) => {
            if (this.deaf) return;
            const copy: unknown = structuredClone(message);
            for (const other of this.#channels) if (other !== entry) queueMicrotask(() => other.listener(copy));
          },
          onMessage: (listener: (message: unknown) => void) => {
            entry.listener = listener;
          },
          close: () => {
            this.#channels.delete(entry);
          },
        },
      };
      this.#channels.add(entry);
      return entry.channel;
    },
    holdLock: (_, onHeld) => {
      const ask = { onHeld };
      this.#waiting.push(ask);
      if (this.#waiting[0] === ask) queueMicrotask(onHeld);
      return () => {
        const held = this.#waiting[0] === ask;
        this.#waiting = this.#waiting.filter((other) => other !== ask);
        const next = this.#waiting[0];
        if (held && next !== undefined) queueMicrotask(next.onHeld);
      };
    },
  };

  say(text: string): void {
    if (text.startsWith('id:')) this.log.push(text);
    for (const stream of this.streams) stream.enqueue(new TextEncoder().encode(text));
  }

  tab(since = 0): { items: StreamItem[]; states: ConnectionState[]; client: EventsClient; seen(): number[] } {
    const items: StreamItem[] = [];
    const states: ConnectionState[] = [];
    const client = createSharedEventsClient(
      'events',
      '/events',
      since,
      { onItems: (batch) => items.push(...batch), onConnection: (state) => states.push(state) },
      {
        fetch: async (url, { signal }) => {
          const from = Number(new URL(url, 'http://engram').searchParams.get('since'));
          let mine: ReadableStreamDefaultController<Uint8Array>;
          const body = new ReadableStream<Uint8Array>({
            start: (controller) => {
              mine = controller;
              this.streams.add(controller);
              const backlog = this.log.slice(from).join('');
              controller.enqueue(new TextEncoder().encode(`: hello\n\n${backlog}`));
            },
          });
          signal?.addEventListener('abort', () => {
            if (this.streams.delete(mine)) mine.error(new Error('aborted'));
          });
          return new Response(body);
        },
        now: () => 0,
        delay: (task, ms) => {
          const timer = { task, ms };
          this.timers.add(timer);
          return () => this.timers.delete(timer);
        },
        random: () => 0,
      },
      this.sharing,
    );
    return {
      items,
      states,
      client,
      seen: () => items.flatMap((item) => (item.type === 'event' ? [item.event.idx] : [])),
    };
  }
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

let browser: Browser;
beforeEach(() => {
  browser = new Browser();
  browser.log = [frame(1), frame(2)];
});

describe('several tabs on one session', () => {
  it('hold one stream, and each shows every event once', async () => {
    const first = browser.tab();
    await settle();
    const second = browser.tab();
    const third = browser.tab();
    await settle();
    browser.say(': beat\n\n');
    await settle();
    expect(browser.streams.size).toBe(1);
    browser.say(frame(3));
    browser.say(frame(4));
    await settle();
    for (const tab of [first, second, third]) {
      expect(tab.seen()).toEqual([1, 2, 3, 4]);
      expect(tab.states.at(-1)).toEqual({ status: 'live' });
    }
  });

  it('go on when the leading tab is closed: another reads from its own cursor', async () => {
    const first = browser.tab();
    await settle();
    const second = browser.tab();
    await settle();
    browser.say(frame(3));
    await settle();
    first.client.close();
    await settle();
    browser.say(frame(4));
    await settle();
    expect(second.seen()).toEqual([1, 2, 3, 4]);
    expect(browser.streams.size).toBe(1);
  });

  it('read for themselves when the leader falls silent', async () => {
    browser.tab();
    await settle();
    const second = browser.tab();
    await settle();
    browser.say(': beat\n\n');
    await settle();
    expect(browser.streams.size).toBe(1);
    browser.deaf = true;
    browser.say(frame(3));
    await settle();
    expect(second.seen()).toEqual([1, 2]);
    for (const { task, ms } of [...browser.timers]) if (ms === 40_000) task();
    await settle();
    expect(second.seen()).toEqual([1, 2, 3]);
  });

  it('a lost message is a gap that a stream of its own fills', async () => {
    browser.tab();
    await settle();
    const second = browser.tab();
    await settle();
    browser.deaf = true;
    browser.say(frame(3));
    await settle();
    browser.deaf = false;
    browser.say(frame(4));
    await settle();
    expect(second.seen()).toEqual([1, 2, 3, 4]);
  });

  it('do not change the source in the middle of a streamed message', async () => {
    const first = browser.tab();
    await settle();
    browser.deaf = true;
    const second = browser.tab();
    await settle();
    browser.deaf = false;
    browser.say(chunk('one '));
    browser.say(chunk('two'));
    await settle();
    expect(browser.streams.size).toBe(2);
    const texts = (items: readonly StreamItem[]) =>
      items.flatMap((item) => (item.type === 'chunk' ? [item.chunk.chunk] : [])).join('');
    expect([texts(first.items), texts(second.items)]).toEqual(['one two', 'one two']);
  });

  it('ignore what they do not understand', async () => {
    const first = browser.tab();
    await settle();
    const channel = browser.sharing.openChannel('events');
    for (const message of [null, 7, { kind: 'leader' }, { kind: 'leader', cursor: 9, connection: 'live', frames: 1 }]) {
      channel.post(message);
    }
    await settle();
    browser.say(frame(3));
    await settle();
    expect(first.seen()).toEqual([1, 2, 3]);
  });
});
