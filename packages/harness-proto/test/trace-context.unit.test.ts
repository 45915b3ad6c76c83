// Traces without a collector: the context and its text form; and the tracer against a collector that is a plain
// HTTP server, that refuses, and that is not there.

import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { createOtlpTracer } from '../src/otlp-tracer.js';
import { flushSpans, inSpan, parseTraceParent, setTracer, startSpan, toTraceSettings } from '../src/trace-context.js';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
afterEach(() => setTracer(undefined));

function tracerTo(url: string, lost: string[] = []) {
  const settings = { url, headers: { 'x-key': 'k' }, env: {}, service: 'test', version: '1' };
  return createOtlpTracer({ ...settings, onLost: (reason, spans) => lost.push(`${reason} ${spans}`) });
}

describe('traces', () => {
  it('are nothing at all without a tracer', async () => {
    expect(startSpan('x')).toBeUndefined();
    expect(inSpan(undefined, () => 7)).toBe(7);
    await flushSpans();
  });

  it('load the tracer only when it is asked for', () => {
    const packages = fileURLToPath(new URL('../../', import.meta.url));
    for (const name of readdirSync(packages)) {
      const src = join(packages, name, 'src');
      const files = name === 'web' ? [] : readdirSync(src, { recursive: true, encoding: 'utf8' });
      for (const file of files.filter((each) => each.endsWith('.ts')))
        expect(readFileSync(join(src, file), 'utf8'), file).not.toMatch(/^import (?!type).*otlp-tracer/m);
    }
  });

  it('are asked for by the variables of OpenTelemetry alone', () => {
    expect(toTraceSettings({})).toBeUndefined();
    expect(toTraceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'nonsense' })).toBeUndefined();
    expect(
      toTraceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' }),
    ).toBeUndefined();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/', OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=x%20y', PATH: '/' };
    expect(toTraceSettings(env)).toMatchObject({ url: 'http://c:4318/v1/traces', headers: { a: '1', b: 'x y' } });
    expect(Object.keys(toTraceSettings(env)?.env ?? {})).toEqual([
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_HEADERS',
    ]);
    expect(toTraceSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t/x' })?.url).toBe('http://t/x');
  });

  it.each(['', 'x', PARENT.toUpperCase(), PARENT.replace('b7ad6b7169203331', '0'.repeat(16)), `${PARENT}-1`])(
    'take %j for no parent',
    (text) => expect(parseTraceParent(text)).toBeUndefined(),
  );

  it('go to the collector with parent, times, attributes and outcome; not when the caller does not sample', async () => {
    const bodies: { headers: unknown; spans: Record<string, unknown>[] }[] = [];
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += String(chunk);
      });
      request.on('end', () => {
        bodies.push({
          headers: request.headers['x-key'],
          spans: JSON.parse(text).resourceSpans[0].scopeSpans[0].spans,
        });
        response.end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    setTracer(tracerTo(`http://127.0.0.1:${port}/v1/traces`));
    const outer = startSpan('outer', { parent: PARENT, kind: 'server', attributes: { n: 1, f: 0.5, yes: true } });
    await inSpan(outer, async () => {
      await Promise.resolve();
      startSpan('inner')?.end({ failed: 'no' });
    });
    outer?.end();
    outer?.end();
    const quiet = startSpan('quiet', { parent: PARENT.replace(/01$/, '00') });
    expect(quiet?.traceParent).toMatch(/-00$/);
    quiet?.end();
    await flushSpans();
    server.close();
    const [{ headers, spans } = { headers: '', spans: [] }] = bodies;
    expect(headers).toBe('k');
    expect(spans.map((span) => span.name)).toEqual(['inner', 'outer']);
    const [inner, above] = spans;
    expect(above).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
      kind: 2,
      status: { code: 1 },
      attributes: [
        { key: 'n', value: { intValue: '1' } },
        { key: 'f', value: { doubleValue: 0.5 } },
        { key: 'yes', value: { boolValue: true } },
      ],
    });
    expect(inner).toMatchObject({
      parentSpanId: above?.spanId,
      traceId: above?.traceId,
      status: { code: 2, message: 'no' },
    });
    expect(BigInt(String(inner?.endTimeUnixNano))).toBeGreaterThanOrEqual(BigInt(String(inner?.startTimeUnixNano)));
  });

  it('are lost, with words, when the collector is away; work goes on', async () => {
    const lost: string[] = [];
    setTracer(tracerTo('http://127.0.0.1:1/v1/traces', lost));
    startSpan('x')?.end();
    await flushSpans();
    expect(lost).toEqual([expect.stringMatching(/ 1$/)]);
  });
});
