// Gives this process a tracer when traces are asked for; loads nothing otherwise.

import { flushSpans, setTracer, type TraceSettings } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { readVersion } from './installation.js';

/** Gives what sends the last spans at the end. */
export async function openTracing(
  settings: TraceSettings | undefined,
  service: 'engram-serve' | 'engram-host',
  log: Logger,
): Promise<() => Promise<void>> {
  if (settings === undefined) return () => Promise.resolve();
  const { createOtlpTracer } = await import('@engram/harness-proto/otlp-tracer');
  const onLost = (reason: string, spans: number): void => log.warn({ reason, spans }, 'spans were lost');
  setTracer(createOtlpTracer({ ...settings, service, version: readVersion(), onLost }));
  log.info({ url: settings.url }, 'traces are sent');
  return flushSpans;
}
