// From the assignment line to the end of the session: one session per process.

import { setTimeout as delay } from 'node:timers/promises';
import { flushSpans, setTracer, type TraceSettings } from '@engram/harness-proto';
import { type Logger, pino } from 'pino';
import { parseAssignment } from './assignment-line.js';
import { type HarnessConfig, readConfig } from './config.js';
import { HarnessError } from './harness-error.js';
import { bindHookPort, type HookPort } from './hook-server.js';
import { rehearse } from './rehearse.js';
import { openSession, type SessionEnd } from './session.js';

/** Told to the host by the exit code alone; everything else is in the log and in the session's events. */
export const EXIT_CODES = {
  shutdown: 0,
  bad_assignment: 2,
  stale_epoch: 3,
  failed: 4,
  host_unreachable: 5,
} as const satisfies Record<SessionEnd | 'bad_assignment' | 'failed', number>;

const LAST_SPANS_MS = 500;

/** The last spans get a moment. */
function leave(code: number, isTraced: boolean): void {
  if (!isTraced) process.exit(code);
  void Promise.race([flushSpans(), delay(LAST_SPANS_MS)]).finally(() => process.exit(code));
}

async function openTracing(settings: TraceSettings, version: string, log: Logger): Promise<void> {
  const { createOtlpTracer } = await import('@engram/harness-proto/otlp-tracer');
  const onLost = (reason: string, spans: number): void => log.warn({ reason, spans }, 'spans were lost');
  setTracer(createOtlpTracer({ ...settings, service: 'engram-harness', version, onLost }));
}

let ready: { readonly config: HarnessConfig; readonly root: Logger; readonly hookPort: Promise<HookPort> } | undefined;

/** What needs no session, done once: while we wait for one. */
export function getReady(): NonNullable<typeof ready> {
  if (ready) return ready;
  const config = readConfig();
  // stdout is a protocol: its one line said that we are ready.
  const root = pino({ level: config.logLevel, base: { pid: process.pid } }, pino.destination({ fd: 2, sync: true }));
  const hookPort = bindHookPort();
  // Told by the session that needs it.
  hookPort.catch(() => undefined);
  ready = { config, root, hookPort };
  return ready;
}

/** While nobody waits. What goes wrong is met again, and told, when it counts. */
export function practise(): void {
  const { root } = getReady();
  rehearse().catch((error: unknown) => root.debug({ err: error }, 'the rehearsal broke off'));
}

export async function runSession(line: string): Promise<void> {
  const { config, root, hookPort } = getReady();
  try {
    const assignment = parseAssignment(line);
    const log = root.child({ sessionId: assignment.session_id, epoch: assignment.epoch });
    process.on('uncaughtException', (error) => {
      log.fatal({ err: error }, 'unexpected error');
      process.exit(EXIT_CODES.failed);
    });
    if (config.tracing !== undefined) await openTracing(config.tracing, config.version, log);
    await openSession({
      assignment,
      config,
      hookPort: await hookPort,
      log,
      onEnd: (end) => leave(EXIT_CODES[end], config.tracing !== undefined),
    });
  } catch (error) {
    root.fatal({ err: error }, 'the session cannot be run');
    const bad = error instanceof HarnessError && error.code === 'bad_assignment';
    process.exit(bad ? EXIT_CODES.bad_assignment : EXIT_CODES.failed);
  }
}
