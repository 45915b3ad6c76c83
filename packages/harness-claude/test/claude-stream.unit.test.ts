import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClaudeMessage } from '../src/claude-message.js';
import { createClaudeStream, createLineSplitter } from '../src/claude-stream.js';
import { allStreams, fixtureMessages, VERSIONS } from './fixture-streams.js';

const bytes = (text: string) => Buffer.from(text, 'utf8');
const texts = (messages: readonly ClaudeMessage[]) =>
  messages.flatMap((m) => (m.type === 'assistant' ? m.blocks : [])).flatMap((b) => (b.type === 'text' ? [b.text] : []));
const assistantLine = (text: string) =>
  `{"type":"assistant","message":{"id":"m1","model":"x","content":[{"type":"text","text":${JSON.stringify(text)}}]},"parent_tool_use_id":null}\n`;

describe('splitting the stream', () => {
  it('keeps a raw U+2028 or U+2029 inside a string (STR-01)', () => {
    const stream = createClaudeStream();
    const line = assistantLine('a\u2028b\u2029c');
    expect(line).toContain('\u2028');
    expect(texts(stream.push(bytes(line)))).toEqual(['a\u2028b\u2029c']);
  });

  it('decodes characters that a chunk boundary cuts (STR-02)', () => {
    const line = bytes(assistantLine(`${'x'.repeat(70_000)}🦀é`));
    for (let cut = line.length - 30; cut < line.length; cut += 1) {
      const stream = createClaudeStream();
      const messages = [...stream.push(line.subarray(0, cut)), ...stream.push(line.subarray(cut))];
      expect(texts(messages)[0]?.endsWith('🦀é')).toBe(true);
    }
  });

  it('takes a line of 8 MiB, and skips one over the bound up to its LF (STR-03)', () => {
    const big = createClaudeStream();
    expect(texts(big.push(bytes(assistantLine('y'.repeat(8 * 1024 * 1024)))))[0]).toHaveLength(8 * 1024 * 1024);

    const bounded = createClaudeStream(1000);
    const messages = [
      ...bounded.push(bytes('z'.repeat(600))),
      ...bounded.push(bytes('z'.repeat(600))),
      ...bounded.push(bytes(`zz\n${assistantLine('after')}`)),
    ];
    expect(texts(messages)).toEqual(['after']);
    expect(bounded.counters).toEqual({ lines: 1, unknown: 0, noise: 0, oversized: 1 });
  });

  it('counts types and subtypes it does not know and goes on (STR-04)', () => {
    const stream = createClaudeStream();
    const messages = stream.push(
      bytes(
        '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}\n{"type":"new_thing"}\n{"type":"system","subtype":"zzz"}\n',
      ),
    );
    expect(messages.map((m) => m.type)).toEqual(['ignored', 'ignored', 'system']);
    expect(stream.counters).toEqual({ lines: 3, unknown: 1, noise: 0, oversized: 0 });
  });

  it('reports noise and an unfinished last line without failing (STR-09)', () => {
    const stream = createClaudeStream();
    const messages = [
      ...stream.push(bytes('(node:12) Warning: x\n\n[1]\nnull\n{"no":"type"}\n')),
      ...stream.push(bytes('{"type":"assist')),
      ...stream.end(),
    ];
    expect(messages.map((m) => m.type)).toEqual(Array(5).fill('noise'));
    expect(stream.counters.noise).toBe(5);
  });

  it('gives the same lines however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: 'binary', maxLength: 40 }).map((s) => s.replaceAll('\n', '')),
          { maxLength: 8 },
        ),
        fc.array(fc.nat(200), { maxLength: 12 }),
        (lines, cuts) => {
          const whole = bytes(lines.map((l) => `${l}\n`).join(''));
          const points = [...new Set([0, ...cuts.map((c) => c % (whole.length + 1)), whole.length])].sort(
            (a, b) => a - b,
          );
          const splitter = createLineSplitter();
          const out: string[] = [];
          for (let i = 1; i < points.length; i += 1) {
            for (const line of splitter.push(whole.subarray(points[i - 1], points[i]))) {
              out.push(Buffer.from(line).toString('utf8'));
            }
          }
          expect(splitter.end()).toBeUndefined();
          // A lone surrogate cannot be written as UTF-8; it comes back as the replacement character.
          expect(out).toEqual(lines.map((l) => bytes(l).toString('utf8')));
        },
      ),
    );
  });

  it('never loses the line after an oversized one, whatever the sizes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(30), { minLength: 1, maxLength: 10 }),
        fc.integer({ min: 1, max: 7 }),
        (sizes, step) => {
          const whole = bytes(sizes.map((n) => `${'a'.repeat(n)}\n`).join(''));
          const splitter = createLineSplitter(15);
          const out: number[] = [];
          for (let i = 0; i < whole.length; i += step) {
            out.push(...splitter.push(whole.subarray(i, i + step)).map((l) => l.length));
          }
          expect(out).toEqual(sizes.filter((n) => n <= 15));
          expect(splitter.oversized).toBe(sizes.filter((n) => n > 15).length);
        },
      ),
    );
  });
});

describe('parsing recorded streams', () => {
  it.each(allStreams())('knows every line of %s %s', (version, name) => {
    const messages = fixtureMessages(version, name);
    expect(messages.filter((m) => m.type === 'noise')).toEqual([]);
    expect(messages.filter((m) => m.type === 'ignored' && !m.known)).toEqual([]);
  });

  it.each(VERSIONS)('reads the clean defer of %s', (version) => {
    const messages = fixtureMessages(version, 'defer-ask1');
    const result = messages.find((m) => m.type === 'result');
    expect(result).toMatchObject({
      is_error: false,
      stop_reason: 'tool_deferred',
      terminal_reason: 'tool_deferred',
      deferred_tool_use: { name: 'AskUserQuestion', input: { questions: [{ question: 'Which database?' }] } },
    });
    const init = messages.find((m) => m.type === 'init');
    expect(init).toMatchObject({ version, cwd: '/workspace', permission_mode: 'bypassPermissions' });
    expect(init?.type === 'init' && init.tools).toContain('AskUserQuestion');
  });

  it('reads partial messages with their API message id', () => {
    const events = fixtureMessages('2.1.332', 'inv-hook-events-defer').filter((m) => m.type === 'stream_event');
    expect(events.map((m) => m.event.type)).toEqual([
      'message_start',
      'tool_use_start',
      'block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(new Set(events.map((m) => m.message_id)).size).toBe(1);
    expect(events[1]?.event).toMatchObject({ name: 'AskUserQuestion', index: 0 });
  });

  it('reads a permission request and its withdrawal', () => {
    const messages = fixtureMessages('2.1.332', 'hook-cmd-missing-auq');
    const request = messages.find((m) => m.type === 'control_request');
    expect(request).toMatchObject({ subtype: 'can_use_tool', tool_name: 'AskUserQuestion' });
    const cancel = messages.find((m) => m.type === 'control_cancel_request');
    expect(cancel?.type === 'control_cancel_request' && cancel.request_id).toBe(
      request?.type === 'control_request' ? request.request_id : '',
    );
  });

  it('takes what the turn cost from the newer accounts, subagents included', () => {
    const results = fixtureMessages('2.1.332', 'subagent-auq').filter((m) => m.type === 'result');
    expect(results[0]).toMatchObject({ usage: { input_tokens: 40, output_tokens: 80 }, turn_cost_usd: 0.00176 });
    const older = fixtureMessages('2.1.183', 'defer-ask1').find((m) => m.type === 'result');
    expect(older).toMatchObject({ usage: { input_tokens: 10 }, turn_cost_usd: undefined, total_cost_usd: 0.00055 });
  });
});
