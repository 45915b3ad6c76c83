// Records spans and sends them as OTLP over HTTP in JSON (opentelemetry-proto, trace/v1), in batches and in the
// background. A collector that is away costs spans, never work: a batch is tried once, what piles up is dropped
// and counted. Loaded only when traces are asked for.

import { randomBytes } from 'node:crypto';
import {
  parseTraceParent,
  type Span,
  type SpanAttributes,
  type SpanKind,
  type Tracer,
  type TraceSettings,
} from './trace-context.js';

const KINDS: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, producer: 4, consumer: 5 };
const OK = 1;
const ERROR = 2;
const BATCH_SPANS = 128;
const KEPT_SPANS = 4_096;
const SEND_EVERY_MS = 1_000;
const SEND_TIMEOUT_MS = 5_000;

export interface OtlpTracerOptions extends TraceSettings {
  readonly service: string;
  readonly version: string;
  /** Hears of a batch that could not be sent, and how many spans went with it. */
  onLost(reason: string, spans: number): void;
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly object[];
  readonly status: { readonly code: number; readonly message?: string };
}

export function createOtlpTracer(options: OtlpTracerOptions): Tracer {
  const resource = {
    attributes: toAttributes({
      'service.name': options.env.OTEL_SERVICE_NAME ?? options.service,
      'service.version': options.version,
      'process.pid': process.pid,
    }),
  };
  let waiting: OtlpSpan[] = [];
  let sending: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  function keep(span: OtlpSpan): void {
    if (waiting.length >= KEPT_SPANS) {
      options.onLost('too many spans wait for the collector', 1);
      return;
    }
    waiting.push(span);
    if (waiting.length >= BATCH_SPANS) void flush();
    timer ??= setTimeout(() => void flush(), SEND_EVERY_MS).unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    if (batch.length > 0) sending = sending.then(() => send(batch));
    return sending;
  }

  async function send(spans: readonly OtlpSpan[]): Promise<void> {
    const scope = { name: 'engram', version: options.version };
    try {
      const reply = await fetch(options.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...options.headers },
        body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] }),
        signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
      });
      await reply.arrayBuffer();
      if (!reply.ok) options.onLost(`the collector answered ${reply.status}`, spans.length);
    } catch (error) {
      options.onLost(error instanceof Error ? error.message : String(error), spans.length);
    }
  }

  return {
    start(name, { parent, kind = 'internal', attributes = {} }): Span {
      const above = parseTraceParent(parent);
      const traceId = above?.traceId ?? randomBytes(16).toString('hex');
      const spanId = randomBytes(8).toString('hex');
      const startTimeUnixNano = nanoseconds();
      const sampled = above?.sampled ?? true;
      let ended = false;
      return {
        traceParent: `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`,
        end({ attributes: more = {}, failed } = {}) {
          if (ended || !sampled) return;
          ended = true;
          keep({
            traceId,
            spanId,
            ...(above === undefined ? {} : { parentSpanId: above.spanId }),
            name,
            kind: KINDS[kind],
            startTimeUnixNano,
            endTimeUnixNano: nanoseconds(),
            attributes: toAttributes({ ...attributes, ...more }),
            status: failed === undefined ? { code: OK } : { code: ERROR, message: failed },
          });
        },
      };
    },
    flush,
  };
}

/** Wall clock with the resolution of the monotonic one. */
function nanoseconds(): string {
  return String(BigInt(Math.round((performance.timeOrigin + performance.now()) * 1_000)) * 1_000n);
}

function toAttributes(attributes: SpanAttributes): readonly object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: toValue(value) }));
}

function toValue(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
