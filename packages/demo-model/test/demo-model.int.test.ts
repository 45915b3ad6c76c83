import { afterEach, describe, expect, it } from 'vitest';
import { createDemoModel, type DemoModel, type DemoModelOptions, text, timesTold, tool } from '../src/index.js';

const models: DemoModel[] = [];
afterEach(async () => {
  await Promise.all(models.splice(0).map((model) => model.close()));
});
async function start(options: DemoModelOptions = {}): Promise<DemoModel> {
  const model = await createDemoModel(options);
  models.push(model);
  return model;
}
const post = (model: DemoModel, prompt: string, rest: object = {}, signal?: AbortSignal) =>
  fetch(`${model.url}/v1/messages?beta=true`, {
    method: 'POST',
    body: JSON.stringify({
      stream: true,
      tools: [{ name: 'Bash' }],
      messages: [{ role: 'user', content: prompt }],
      ...rest,
    }),
    ...(signal === undefined ? {} : { signal }),
  });

interface SeenEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: number;
}
/** Reads the stream event by event with arrival times. */
async function* eventsOf(response: Response): AsyncGenerator<SeenEvent> {
  let buffered = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    buffered += decoder.decode(chunk, { stream: true });
    const frames = buffered.split('\n\n');
    buffered = frames.pop() ?? '';
    for (const frame of frames) {
      const data: unknown = JSON.parse(frame.split('\ndata: ')[1] ?? '{}');
      if (typeof data !== 'object' || data === null) throw new Error('event without data');
      yield { type: /^event: (\S+)/.exec(frame)?.[1] ?? '', data: { ...data }, at: Date.now() };
    }
  }
}
async function collect(response: Response): Promise<SeenEvent[]> {
  const events: SeenEvent[] = [];
  for await (const event of eventsOf(response)) events.push(event);
  return events;
}

describe('a scripted reply', () => {
  it('comes in the order of the Messages API, in pieces', async () => {
    const model = await start();
    model.define('TWO', [
      { blocks: [text('abcdef'), tool('Bash', { command: 'é🙂' })], chunk: 4, usage: { output_tokens: 7 } },
    ]);
    const events = await collect(await post(model, '[[TWO]]'));
    expect(events.map((event) => event.type)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      ...Array.from({ length: 4 }, () => 'content_block_delta'),
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(events.at(-2)?.data).toMatchObject({ delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 7 } });
    expect(model.requests.at(-1)).toMatchObject({ scenario: 'TWO', outcome: 'tool_use', tools: ['Bash'] });
  });

  it('gives every message and call an id of its own, over restarts too', async () => {
    const ids = new Set<unknown>();
    for (let life = 0; life < 2; life++) {
      const model = await start();
      for (let turn = 0; turn < 3; turn++) {
        for (const { data } of await collect(await post(model, '[[BASH]]'))) {
          for (const part of [data.message, data.content_block]) {
            if (typeof part === 'object' && part !== null && 'id' in part) ids.add(part.id);
          }
        }
      }
    }
    expect(ids.size).toBe(12);
  });

  it('waits before message_delta and message_stop', async () => {
    const model = await start();
    model.define('LATE', [{ blocks: [text('x')], beforeDelta: 120, beforeStop: 80 }]);
    const events = await collect(await post(model, '[[LATE]]'));
    const at = (type: string): number => events.find((event) => event.type === type)?.at ?? 0;
    expect(at('message_delta') - at('content_block_stop')).toBeGreaterThanOrEqual(100);
    expect(at('message_stop') - at('message_delta')).toBeGreaterThanOrEqual(60);
  });

  it('stands still at a gate until it is opened, and again once it is held', async () => {
    const model = await start();
    model.define('GATED', [{ blocks: [text('one'), text('two', { gate: 'second' })], gateBeforeStop: 'end' }]);
    model.open('end');
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of eventsOf(await post(model, '[[GATED]]'))) seen.push(event.type);
    })();
    await model.waitForGate('second');
    await expect.poll(() => seen.length).toBe(4);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen).toHaveLength(4);
    model.open('second');
    await reading;
    expect(seen.at(-1)).toBe('message_stop');
    model.hold('end');
    const aborted = new AbortController();
    const held = post(model, '[[GATED]]', {}, aborted.signal).then((response) => response.text());
    await model.waitForGate('end');
    aborted.abort();
    await expect(held).rejects.toThrow();
    const entry = await model.waitForRequest((each) => each.n === 2 && each.outcome !== 'open');
    expect(entry.outcome).toBe('client gone');
  });

  it('can cut the connection, fail inside the stream, and refuse', async () => {
    const model = await start();
    await expect(collect(await post(model, '[[ECUT]]'))).rejects.toThrow();
    expect((await collect(await post(model, '[[ESSE]]'))).at(-1)?.type).toBe('error');
    const refused = await post(model, '[[E429]]');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(model.requests.map((entry) => entry.outcome)).toEqual(['cut', 'sse error', 'error 429']);
  });

  it('is given whole when no stream is asked for', async () => {
    const model = await start({ scenarios: { JSON: [{ blocks: [text('x'), tool('Bash', {}, { id: 't1' })] }] } });
    const reply: unknown = await (await post(model, '[[JSON]]', { stream: false })).json();
    expect(reply).toMatchObject({ stop_reason: 'tool_use', content: [{ text: 'x' }, { id: 't1' }] });
  });
});

describe('the request log', () => {
  it('has the entry while the reply is still held back', async () => {
    const model = await start();
    const response = post(model, '[[GATE:g]] words');
    const entry = await model.waitForRequest((each) => each.scenario === 'GATE');
    expect(entry.outcome).toBe('open');
    expect(timesTold(entry, 'words')).toBe(1);
    model.open('g');
    await (await response).text();
    expect(entry.outcome).toBe('end_turn');
  });

  it('says what it saw when the awaited request does not come', async () => {
    const model = await start();
    await (await post(model, '[[HI]]')).text();
    await expect(model.waitForRequest((entry) => entry.scenario === 'ASK1', 30)).rejects.toThrow('1:HI/0 end_turn');
  });

  it('keeps tool results whole and text that crosses chunk borders intact', async () => {
    const model = await start();
    const content = 'ü🙂'.repeat(60_000);
    await (
      await post(model, '', {
        messages: [
          { role: 'user', content: '[[ASK1]]' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Read', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content }] },
        ],
      })
    ).text();
    expect(model.requests[0]?.messages[2]?.blocks[0]).toEqual({
      type: 'tool_result',
      tool_use_id: 't',
      is_error: false,
      content,
    });
  });

  it('forgets the oldest entries', async () => {
    const model = await start({ keepRequests: 2 });
    for (let turn = 0; turn < 4; turn++) await (await post(model, '[[HI]]')).text();
    expect(model.requests.map((entry) => entry.n)).toEqual([3, 4]);
  });
});

it('answers the side calls a CLI makes', async () => {
  const model = await start();
  expect((await fetch(model.url, { method: 'HEAD' })).status).toBe(200);
  expect(await (await fetch(`${model.url}/v1/messages/count_tokens`, { method: 'POST', body: '{}' })).json()).toEqual({
    input_tokens: 10,
  });
  expect((await fetch(`${model.url}/v1/other`)).status).toBe(404);
  expect(model.requests.map((entry) => entry.scenario)).toEqual([null, null, null]);
});
