// Keeps a small, constant number of harness processes started ahead, so that waking a session does
// not wait for a runtime to start. The pool never grows with the number of sessions: a taken
// process leaves it for good, and its place is filled when none was taken for a while: a start takes
// a fifth of a second of processor time, and the agent that is just starting needs it more.

import { type ChildProcess, spawn } from 'node:child_process';
import type { HarnessAssignment } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { HostAgentError } from './host-agent-error.js';
import { endProcess, type ProcessIdentity, readProcessStart } from './process-identity.js';
import { removeHarnessRecord, writeHarnessRecord } from './process-records.js';

export interface HarnessExit {
  readonly code?: number;
  readonly signal?: string;
}

/** A harness process; it runs one session and ends with it. */
export interface HarnessProcess {
  readonly pid: number;
  readonly exited: Promise<HarnessExit>;
  /** Once. What the harness needs to know travels on its stdin, never in argv or environment. */
  assign(assignment: HarnessAssignment): Promise<void>;
  /** TERM to its group, KILL after the grace; resolves when it is gone. */
  end(graceMs: number): Promise<void>;
  /** Forgets the saved pid; call when its agent is gone too. */
  forget(): Promise<void>;
}

export interface HarnessPoolOptions {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly dataDir: string;
  readonly size: number;
  /** So long after the last take, but not later than `REFILL_PATIENCE` times that after the first. */
  readonly refillDelayMs: number;
  readonly log: Logger;
}

export interface HarnessPool {
  take(): HarnessProcess;
  /** Processes waiting for a session. */
  waiting(): readonly number[];
  close(): Promise<void>;
}

const REFILL_RETRY_MAX_MS = 30_000;
const REFILL_PATIENCE = 4;

export function createHarnessPool(options: HarnessPoolOptions): HarnessPool {
  const { log } = options;
  const waiting = new Map<HarnessProcess, { ready: boolean }>();
  let failures = 0;
  let refill: NodeJS.Timeout | undefined;
  let refillBy = Number.POSITIVE_INFINITY;
  let closed = false;

  function fill(): void {
    refill = undefined;
    refillBy = Number.POSITIVE_INFINITY;
    while (!closed && waiting.size < options.size) {
      const place = { ready: false };
      const harness = startHarness(options, () => {
        place.ready = true;
        failures = 0;
      });
      waiting.set(harness, place);
      void harness.exited.then((exit) => {
        if (!waiting.delete(harness) || closed) return;
        failures += 1;
        log.warn({ ...exit, failures }, 'harness ended before it had a session');
        void harness.forget();
        fillLater(Math.min(options.refillDelayMs + 250 * 2 ** failures, REFILL_RETRY_MAX_MS));
      });
    }
  }

  function fillLater(delayMs: number): void {
    if (closed || refill !== undefined) return;
    refill = setTimeout(fill, delayMs);
    refill.unref();
  }

  function fillWhenCalm(): void {
    const now = Date.now();
    refillBy = Math.min(refillBy, now + REFILL_PATIENCE * options.refillDelayMs);
    clearTimeout(refill);
    refill = undefined;
    fillLater(Math.min(options.refillDelayMs, Math.max(0, refillBy - now)));
  }

  fill();

  return {
    take() {
      if (closed) throw new HostAgentError('harness_unstartable', 'the pool of harnesses is closed');
      const places = [...waiting];
      const [best] = places.find(([, place]) => place.ready) ?? places[0] ?? [];
      if (best !== undefined) waiting.delete(best);
      fillWhenCalm();
      return best ?? startHarness(options, () => undefined);
    },
    waiting: () => [...waiting.keys()].map((harness) => harness.pid),
    async close() {
      closed = true;
      clearTimeout(refill);
      const rest = [...waiting.keys()];
      waiting.clear();
      await Promise.all(rest.map((harness) => harness.end(500).then(() => harness.forget())));
    },
  };
}

function startHarness(options: HarnessPoolOptions, onReady: () => void): HarnessProcess {
  const { log, dataDir } = options;
  const [file, ...args] = options.command;
  if (file === undefined) throw new HostAgentError('harness_unstartable', 'the harness command is empty');
  // A group of its own: a signal from the terminal reaches the host alone, which ends its sessions in order.
  const child = spawn(file, args, {
    env: { ...options.environment },
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = watchExit(child, log);
  child.stdin.on('error', (error) => log.warn({ err: error }, 'harness input closed'));
  watchReady(child.stdout, onReady);
  const pid = child.pid ?? 0;
  const identity = identify(child, dataDir, log);
  return {
    pid,
    exited,
    async assign(assignment) {
      const known = await identity;
      if (known !== undefined) writeHarnessRecord(dataDir, { ...known, sessionId: assignment.session_id });
      child.stdin.write(`${JSON.stringify(assignment)}\n`);
    },
    async end(graceMs) {
      const known = await identity;
      if (known !== undefined) await endProcess(known, graceMs);
      if (child.pid !== undefined) await exited;
    },
    forget: () => removeHarnessRecord(dataDir, pid),
  };
}

async function identify(child: ChildProcess, dataDir: string, log: Logger): Promise<ProcessIdentity | undefined> {
  const { pid } = child;
  if (pid === undefined) return undefined;
  try {
    const started = await readProcessStart(pid);
    if (started === undefined) return undefined;
    writeHarnessRecord(dataDir, { pid, started });
    return { pid, started };
  } catch (error) {
    log.error({ err: error }, 'could not save the pid of a harness');
    return undefined;
  }
}

function watchExit(child: ChildProcess, log: Logger): Promise<HarnessExit> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      log.error({ err: error }, 'harness could not be started');
      if (child.pid === undefined) resolve({ code: 127 });
    });
    child.once('exit', (code, signal) =>
      resolve({ ...(code === null ? {} : { code }), ...(signal === null ? {} : { signal }) }),
    );
  });
}

/** The harness prints `ready` when it waits for its session; the rest of its stdout is drained. */
function watchReady(stdout: NodeJS.ReadableStream, onReady: () => void): void {
  let seen = '';
  stdout.on('data', (chunk: Buffer) => {
    if (seen.includes('ready')) return;
    seen = (seen + chunk.toString('latin1')).slice(-64);
    if (seen.includes('ready')) onReady();
  });
}
