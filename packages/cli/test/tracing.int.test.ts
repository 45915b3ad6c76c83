// One prompt and one answer, each as one trace from the HTTP request to the end of the run it caused, over all
// processes, as a collector sees it.

import { createServer, type Server } from 'node:http';
import { claudeVersions, type Engram, startEngram, waitFor } from '@engram/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

interface SeenSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code: number };
}

const spans: SeenSpan[] = [];
let collector: Server;
let engram: Engram;

beforeAll(async () => {
  collector = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
        const service = resource.attributes.find((each: { key: string }) => each.key === 'service.name').value
          .stringValue;
        for (const scope of scopeSpans) for (const span of scope.spans) spans.push({ service, ...span });
      }
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const address = collector.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  engram = await startEngram({
    claudeVersion: claudeVersions().at(-1) ?? '',
    idleMs: 1_000,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
  });
});
afterAll(async () => {
  await engram.stop();
  collector.close();
});

/** The trace that ends in this kind of request's run, root first. */
async function chainOf(rootName: string): Promise<readonly SeenSpan[]> {
  const find = (): readonly SeenSpan[] => {
    const root = spans.find((span) => span.name === rootName);
    const chain = root === undefined ? [] : [root];
    for (;;) {
      const last = chain.at(-1);
      const next = spans.find((span) => span.parentSpanId === last?.spanId && span.name !== 'tool call');
      if (next === undefined) return chain;
      chain.push(next);
    }
  };
  await waitFor(
    () => find().at(-1)?.name === 'run',
    20_000,
    `a run below ${rootName} in ${spans.map((s) => s.name).join()}`,
  );
  return find();
}

it('shows a prompt and an answer as one trace each, from the request to the end of the run', async () => {
  const { id } = await engram.api.createSession({
    prompt: 'Show me the demo',
    model: 'engram-demo',
    workspace: { kind: 'empty' },
  });
  await waitFor(async () => (await engram.api.getSession(id)).status === 'idle', 60_000, 'the question to wait');
  const [waiting] = (await engram.api.getSession(id)).awaiting;
  const answers = Object.fromEntries(
    (waiting?.questions ?? []).map(({ question, options }) => [question, [options[0]?.label ?? '']]),
  );
  await engram.api.answer(id, waiting?.tool_call_id ?? '', answers);

  const prompt = await chainOf('POST /api/v1/sessions');
  const answer = await chainOf('POST /api/v1/sessions/{id}/answers');
  const services = ['engram-serve', 'engram-serve', 'engram-host', 'engram-harness'];
  expect(prompt.map(({ service, name }) => `${service} ${name}`)).toEqual(
    ['POST /api/v1/sessions', 'accept prompt', 'deliver prompt', 'run'].map((name, at) => `${services[at]} ${name}`),
  );
  expect(answer.map(({ service, name }) => `${service} ${name}`)).toEqual(
    ['POST /api/v1/sessions/{id}/answers', 'accept answer', 'deliver answer_question', 'run'].map(
      (name, at) => `${services[at]} ${name}`,
    ),
  );
  for (const chain of [prompt, answer]) {
    expect(new Set(chain.map((span) => span.traceId)).size).toBe(1);
    expect(chain.map((span) => span.status.code)).toEqual([1, 1, 1, 1]);
    const runs = chain.at(-1)?.attributes ?? [];
    expect(runs.find(({ key }) => key === 'engram.session_id')?.value).toEqual({ stringValue: id });
    expect(runs.some(({ key }) => key === 'engram.run_id')).toBe(true);
    // Each begins after what caused it.
    const starts = chain.map((span) => BigInt(span.startTimeUnixNano));
    expect([...starts].sort((a, b) => (a < b ? -1 : 1))).toEqual(starts);
  }
  expect(prompt[0]?.traceId).not.toBe(answer[0]?.traceId);
  const tools = spans.filter((span) => span.name === 'tool call');
  expect(tools.some((span) => span.parentSpanId === prompt.at(-1)?.spanId)).toBe(true);
  // No words of anybody are in a trace.
  expect(JSON.stringify(spans)).not.toContain('Show me the demo');
});
