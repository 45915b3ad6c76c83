// A real door on a real coordinator on a real PostgreSQL, in a temporary folder, with two owners;
// and the other side of the database, as a host would use it, to make an agent's events happen.

import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Coordinator, createCoordinator, type EmbeddedPostgres, startEmbeddedPostgres } from '@engram/coordinator';
import type { HarnessEvent, Question } from '@engram/harness-proto';
import pino from 'pino';
import { createOrchestrator, type Orchestrator, type OrchestratorOptions } from '../src/orchestrator.js';

const log = pino({ level: process.env.ENGRAM_TEST_LOG ?? 'silent' });

export const OWNER = { id: 'local', name: 'you' };
export const OTHER = { id: 'mallory', name: 'Mallory' };

export function sha256(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

/** Names of desk methods in the order they were called; everything is passed on to the real desk. */
export interface CallLog {
  readonly calls: string[];
}

function recordCalls(coordinator: Coordinator, log: CallLog): Coordinator {
  return new Proxy(coordinator, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        log.calls.push(String(name));
        return Reflect.apply(member, target, args);
      };
    },
  });
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, or undefined. */
  readonly json: ReturnType<typeof JSON.parse>;
  readonly text: string;
}

export interface DoorUnderTest {
  readonly door: Orchestrator;
  readonly url: string;
  readonly coordinator: Coordinator;
  readonly desk: CallLog;
  readonly token: string;
  readonly otherToken: string;
  readonly folder: string;
  readonly webRoot: string;
  readonly postgres: EmbeddedPostgres;
  restartPostgres(): Promise<void>;
  /** As the owner unless told otherwise. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
  close(): Promise<void>;
}

export async function callUrl(
  url: string,
  method: string,
  headers: Record<string, string>,
  body?: string | Uint8Array<ArrayBuffer>,
): Promise<Answered> {
  const response = await fetch(url, { method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  const isJson = text !== '' && /json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
}

export async function startDoor(options: Partial<OrchestratorOptions> = {}): Promise<DoorUnderTest> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'ego-')));
  const dataDir = join(folder, 'data');
  const runDir = join(folder, 'run');
  const webRoot = join(folder, 'web');
  for (const path of [dataDir, runDir]) await mkdir(path, { mode: 0o700 });
  await mkdir(join(webRoot, 'assets'), { recursive: true });
  await mkdir(join(folder, 'projects/one'), { recursive: true });
  await writeFile(join(webRoot, 'index.html'), '<!doctype html><title>app</title>');
  await writeFile(join(webRoot, 'assets/index-abc123.js'), 'export {};');

  let postgres = await startEmbeddedPostgres({ dataDir, runDir, log });
  const coordinator = await createCoordinator({ connection: postgres.connectionConfig, log });
  const token = `owner-${randomUUID()}`;
  const otherToken = `other-${randomUUID()}`;
  await coordinator.putToken(sha256(token), OWNER);
  await coordinator.putToken(sha256(otherToken), OTHER);
  const desk: CallLog = { calls: [] };
  const door = await createOrchestrator({
    desk: recordCalls(coordinator, desk),
    log,
    webRoot,
    port: 0,
    workspaceRoots: [join(folder, 'projects'), dataDir],
    dataDir,
    statusInfo: { version: '0.0.0-test' },
    holdMs: 120_000,
    ...options,
  });
  return {
    door,
    url: door.url,
    coordinator,
    desk,
    token,
    otherToken,
    folder,
    webRoot,
    get postgres() {
      return postgres;
    },
    async restartPostgres() {
      postgres = await startEmbeddedPostgres({ dataDir, runDir, log });
    },
    call: (method, path, body, headers = {}) =>
      callUrl(
        `${door.url}${path}`,
        method,
        {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body === undefined ? undefined : JSON.stringify(body),
      ),
    async close() {
      await door.close();
      await coordinator.close();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const EDITOR: Question = {
  question: 'Which editor?',
  header: 'Editor',
  multi_select: false,
  options: [
    { label: 'vi', description: '' },
    { label: 'ed', description: '' },
  ],
};
export const LANGUAGES: Question = {
  question: 'Which languages?',
  header: 'Languages',
  multi_select: true,
  options: [
    { label: 'C', description: '' },
    { label: 'Ada', description: '' },
  ],
};

/** A host that holds a session and tells events as a harness would. */
export interface FakeRun {
  readonly epoch: number;
  tell(...events: HarnessEvent[]): Promise<void>;
}

export async function holdSession(coordinator: Coordinator, sessionId: string): Promise<FakeRun> {
  const host_id = `host-${sessionId}`;
  await coordinator.heartbeat({
    host_id,
    name: 'test-host',
    version: '0',
    pid: process.pid,
    isolation: 'process',
    slots: 1_000,
    credentials: 'none',
    demo: true,
  });
  await coordinator.wake(sessionId);
  const claims = await coordinator.claimSessions(host_id, 1_000);
  const claim = claims.find(({ session }) => session.id === sessionId);
  if (claim === undefined) throw new Error(`session ${sessionId} could not be claimed`);
  let seq = claim.lastHarnessSeq;
  return {
    epoch: claim.epoch,
    async tell(...events) {
      const numbered = events.map((event) => {
        seq += 1;
        return { seq, event };
      });
      const outcome = await coordinator.appendEvents(sessionId, claim.epoch, numbered);
      if (!outcome.ok) throw new Error(outcome.reason);
    },
  };
}

export async function askQuestion(
  coordinator: Coordinator,
  sessionId: string,
  tool_call_id: string,
  questions: readonly Question[] = [EDITOR],
): Promise<FakeRun> {
  const run = await holdSession(coordinator, sessionId);
  const run_id = `run-${tool_call_id}`;
  await run.tell(
    { type: 'run_started', run_id },
    { type: 'user_question', run_id, tool_call_id, questions },
    { type: 'run_completed', run_id, ok: true },
    { type: 'harness_idle' },
  );
  return run;
}
