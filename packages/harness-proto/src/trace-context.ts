// Traces, as far as every package knows of them: which span one is in, and how to begin one. Nothing is
// recorded unless a process was given a tracer (otlp-tracer.ts, loaded only then); without one a span is
// undefined and costs a comparison. A context travels as W3C `traceparent` text: in the HTTP request, in the
// outbox row, in the command on the wire.

import { AsyncLocalStorage } from 'node:async_hooks';

export type SpanKind = 'internal' | 'server' | 'producer' | 'consumer';
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  /** A `traceparent`; by default the span this runs in. Text that is none begins a new trace. */
  readonly parent?: string | undefined;
  readonly kind?: SpanKind;
  readonly attributes?: SpanAttributes;
}

export interface Span {
  /** What a child names as its parent, here or in another process. */
  readonly traceParent: string;
  /** Once; `failed` says why it did not work out. */
  end(end?: { readonly attributes?: SpanAttributes; readonly failed?: string }): void;
}

export interface Tracer {
  start(name: string, options: SpanOptions): Span;
  /** Resolves when everything ended so far is with the collector, or was given up. */
  flush(): Promise<void>;
}

let tracer: Tracer | undefined;
const context = new AsyncLocalStorage<string>();

/** Once per process, at its start. */
export function setTracer(next: Tracer | undefined): void {
  tracer = next;
}

export const flushSpans = (): Promise<void> => tracer?.flush() ?? Promise.resolve();

/** Undefined when nothing is recorded. */
export function startSpan(name: string, options: SpanOptions = {}): Span | undefined {
  return tracer?.start(name, { ...options, parent: options.parent ?? context.getStore() });
}

/** What is begun inside `work`, however deep, is a child of this span. */
export function inSpan<T>(span: Span | undefined, work: () => T): T {
  return span === undefined ? work() : context.run(span.traceParent, work);
}

export interface TraceSettings {
  /** Where spans are sent, whole. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The variables that said so, for processes that we start. */
  readonly env: Readonly<Record<string, string>>;
}

/** From the variables that OpenTelemetry names; undefined when they do not ask for traces. */
export function toTraceSettings(env: Readonly<Record<string, string | undefined>>): TraceSettings | undefined {
  const text = (name: string): string | undefined => env[name]?.trim() || undefined;
  const base = text('OTEL_EXPORTER_OTLP_ENDPOINT');
  const url =
    text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ??
    (base === undefined ? undefined : `${base.replace(/\/+$/, '')}/v1/traces`);
  if (url === undefined || !URL.canParse(url) || text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const given = text('OTEL_EXPORTER_OTLP_TRACES_HEADERS') ?? text('OTEL_EXPORTER_OTLP_HEADERS') ?? '';
  const headers = given.split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at <= 0 ? [] : [[pair.slice(0, at).trim(), decode(pair.slice(at + 1).trim())] as const];
  });
  const named = Object.entries(env).flatMap(([name, value]) =>
    name.startsWith('OTEL_') && value !== undefined ? [[name, value] as const] : [],
  );
  return { url, headers: Object.fromEntries(headers), env: Object.fromEntries(named) };
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** `00-<trace>-<span>-<flags>`; undefined for anything else. */
export function parseTraceParent(
  text: string | undefined,
): { readonly traceId: string; readonly spanId: string; readonly sampled: boolean } | undefined {
  const found = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text ?? '');
  const [, traceId = '', spanId = '', flags = ''] = found ?? [];
  if (found === null || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
