import { describe, expect, it } from 'vitest';
import { type ApiEvent, readStream } from '../src/api-events.js';

async function read(chunks: readonly Uint8Array[]): Promise<readonly ApiEvent[]> {
  const events: ApiEvent[] = [];
  async function* body(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  for await (const event of readStream(body())) events.push(event);
  return events;
}

const wire =
  ': hello\n\nid: 1\nevent: agent_message\ndata: {"idx":1,"type":"agent_message","text":"é\u2028x"}\n\nevent: lagged\ndata: {"type":"lagged","last_event_idx":4}\n\n';

describe('readStream', () => {
  it('gives the same events wherever the bytes are cut', async () => {
    const bytes = new TextEncoder().encode(wire);
    const whole = await read([bytes]);
    expect(whole.map((event) => event.type)).toEqual(['agent_message', 'lagged']);
    for (let cut = 1; cut < bytes.length; cut += 1) {
      expect(await read([bytes.slice(0, cut), bytes.slice(cut)])).toEqual(whole);
    }
  });

  it('leaves out data that is no event', async () => {
    expect(await read([new TextEncoder().encode('data: nonsense\n\ndata: {"a":1}\n\ndata: {"type":"x"}\n\n')])).toEqual(
      [{ type: 'x' }],
    );
  });
});
