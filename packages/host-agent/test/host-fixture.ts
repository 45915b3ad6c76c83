// One real embedded PostgreSQL and coordinator for a test file, and hosts on it, each with a data
// folder of its own.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type Coordinator,
  createCoordinator,
  type NewSession,
  type PostgresConnection,
  type Session,
  type StoredEvent,
  startEmbeddedPostgres,
} from '@engram/coordinator';
import { type Logger, pino } from 'pino';
import { type HostAgent, type HostAgentOptions, startHostAgent } from '../src/host-agent.js';
import { readProcessStart } from '../src/process-identity.js';

export const PEER = [process.execPath, fileURLToPath(new URL('./peer/peer-harness.mjs', import.meta.url))];
export const OWNER = { id: 'local', name: 'you' };

export interface Stack {
  readonly base: string;
  readonly coordinator: Coordinator;
  readonly connection: PostgresConnection;
  readonly log: Logger;
  /** Stops PostgreSQL, waits, and starts it again on the same folder. */
  restartPostgres(downMs: number): Promise<void>;
  /** A new data folder with its socket folder. */
  newHost(): Promise<{ dataDir: string; runDir: string }>;
  options(folders: { dataDir: string; runDir: string }, more?: Partial<HostAgentOptions>): HostAgentOptions;
  startHost(more?: Partial<HostAgentOptions>): Promise<TestHost>;
  createSession(prompt?: string, more?: Partial<NewSession>): Promise<Session>;
  prompt(id: string, text: string): Promise<string>;
  answer(id: string, toolCallId: string, label?: string): Promise<void>;
  events(id: string): Promise<readonly StoredEvent['event'][]>;
  /** Polls until the check gives something; says what was there when it does not. */
  until<T>(what: string, check: () => Promise<T | undefined | false>, timeoutMs?: number): Promise<T>;
  untilStatus(id: string, status: Session['status'], timeoutMs?: number): Promise<Session>;
  untilEvent(id: string, type: string, count?: number, timeoutMs?: number): Promise<StoredEvent['event']>;
  /** Those that are still there: a failed test must not leave the next one a host that takes its sessions. */
  closeHosts(): Promise<void>;
  close(): Promise<void>;
}

export interface TestHost {
  readonly agent: HostAgent;
  readonly dataDir: string;
  readonly runDir: string;
}

export async function openStack(): Promise<Stack> {
  const log = pino({ level: process.env.HOST_TEST_LOG ?? 'silent' }, pino.destination(2));
  const base = await mkdtemp(join(tmpdir(), 'eg-host-'));
  const dataDir = join(base, 'pg-data');
  const runDir = join(base, 'r');
  await mkdir(dataDir, { mode: 0o700 });
  await mkdir(runDir, { mode: 0o700 });
  let postgres = await startEmbeddedPostgres({ dataDir, runDir, log });
  const coordinator = await createCoordinator({ connection: postgres.connectionConfig, log, leaseMs: 3_000 });
  const agents = new Set<HostAgent>();
  let hosts = 0;

  const stack: Stack = {
    base,
    coordinator,
    connection: postgres.connectionConfig,
    log,
    async restartPostgres(downMs) {
      await postgres.stop();
      await sleep(downMs);
      postgres = await startEmbeddedPostgres({ dataDir, runDir, log });
    },
    async newHost() {
      hosts += 1;
      const folders = { dataDir: join(base, `h${hosts}`), runDir: join(base, `r${hosts}`) };
      await mkdir(folders.dataDir, { mode: 0o700 });
      await mkdir(folders.runDir, { mode: 0o700 });
      return folders;
    },
    options: (folders, more) => ({
      coordinator,
      ...folders,
      log,
      name: 'test host',
      version: '0.1.0',
      slots: 4,
      idleMs: 600,
      harnessCommand: PEER,
      resolveClaude: () => Promise.resolve({ ok: true, path: process.execPath }),
      agentEnvironment: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
      credentials: 'environment',
      workspaceRoots: [base],
      ...more,
      // Renewals must be more frequent than the short leases of these tests.
      timings: {
        renewMs: 500,
        pollMs: 1_000,
        refillDelayMs: 50,
        ...more?.timings,
        policy: { killAfterMs: 1_500, graceSecs: 1, ...more?.timings?.policy },
      },
    }),
    async startHost(more) {
      const folders = await stack.newHost();
      const agent = await startHostAgent(stack.options(folders, more));
      agents.add(agent);
      return { agent, ...folders };
    },
    createSession: (prompt, more) =>
      coordinator.createSession({
        owner: OWNER,
        agent: 'claude',
        workspace: { kind: 'empty' },
        ...(prompt === undefined ? {} : { prompt }),
        ...more,
      }),
    async prompt(id, text) {
      const prompt_id = randomUUID();
      await coordinator.acceptPrompt(id, { text, prompt_id, by: OWNER });
      return prompt_id;
    },
    async answer(id, toolCallId, label = 'yes') {
      const outcome = await coordinator.acceptAnswer(id, {
        tool_call_id: toolCallId,
        answers: { 'Go on?': [label] },
        by: OWNER,
      });
      if (!outcome.ok) throw new Error(`answer refused: ${outcome.reason}`);
    },
    async events(id) {
      const all: StoredEvent['event'][] = [];
      let since = 0;
      for (;;) {
        const { events } = await coordinator.readEvents(id, since, 1_000);
        all.push(...events.map((stored) => stored.event));
        const last = events.at(-1);
        if (last === undefined) return all;
        since = last.idx;
      }
    },
    async until(what, check, timeoutMs = 15_000) {
      const end = Date.now() + timeoutMs;
      for (;;) {
        const found = await check();
        if (found !== undefined && found !== false) return found;
        if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}`);
        await sleep(15);
      }
    },
    untilStatus: (id, status, timeoutMs) =>
      stack.until(
        `status ${status}`,
        async () => {
          const session = await coordinator.getSession(id);
          return session?.status === status ? session : undefined;
        },
        timeoutMs,
      ),
    untilEvent: (id, type, count = 1, timeoutMs) =>
      stack.until(
        `${count} × ${type}`,
        async () => (await stack.events(id)).filter((event) => event.type === type)[count - 1],
        timeoutMs,
      ),
    async closeHosts() {
      await Promise.all([...agents].map((agent) => agent.close()));
      agents.clear();
    },
    async close() {
      await stack.closeHosts();
      await coordinator.close();
      await postgres.stop();
      await rm(base, { recursive: true, force: true });
    },
  };
  return stack;
}

/** Harness processes that this data folder has written down, with or without a session. */
export async function harnesses(dataDir: string): Promise<readonly { pid: number; sessionId?: string }[]> {
  const names = await readdir(join(dataDir, 'harnesses')).catch((): string[] => []);
  const texts = await Promise.all(
    names.map((name) => readFile(join(dataDir, 'harnesses', name), 'utf8').catch(() => '')),
  );
  return texts.flatMap((text) => (text.trim() === '' ? [] : [JSON.parse(text)]));
}

export async function isProcessAlive(pid: number): Promise<boolean> {
  return (await readProcessStart(pid)) !== undefined;
}

export function types(events: readonly StoredEvent['event'][]): readonly string[] {
  return events.map((event) => event.type);
}

/** What the agent said, in order. */
export function said(events: readonly StoredEvent['event'][]): readonly string[] {
  return events.flatMap((event) => ('text' in event && event.type === 'agent_message' ? [String(event.text)] : []));
}

/** Harnesses that have a session; those of the pool have none. */
export async function assigned(host: TestHost): Promise<readonly { pid: number }[]> {
  return (await harnesses(host.dataDir)).filter((harness) => harness.sessionId !== undefined);
}

/** Runs `work` with a host of its own and closes it. */
export async function withHost(
  stack: Stack,
  work: (host: TestHost) => Promise<void>,
  more: Partial<HostAgentOptions> = {},
): Promise<void> {
  const host = await stack.startHost(more);
  try {
    await work(host);
  } finally {
    await host.agent.close();
  }
}

/** A host in a process of its own, to be killed. */
export async function spawnHost(
  stack: Stack,
  options: HostAgentOptions,
  more: { readonly storeAddress?: string } = {},
): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('./peer/host-process.mjs', import.meta.url));
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const { coordinator: _coordinator, log: _log, resolveClaude: _resolve, ...plain } = options;
  child.stdin.write(
    `${JSON.stringify({ ...plain, ...more, connection: stack.connection, claude: process.execPath })}\n`,
  );
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child;
}

export async function killHost(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}
