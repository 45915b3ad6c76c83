// A stage for the web app: the real server with a real database and the built page, and a host desk
// in this process that plays the agent's side. No agent process runs, so a session is in any state
// within milliseconds; the link between browser and server can be cut and mended.

import { readFileSync } from 'node:fs';
import net from 'node:net';
import type { Actor, Claim, Coordinator, HostInfo, Workspace } from '@engram/coordinator';
import { createCoordinator } from '@engram/coordinator';
import type { HarnessEvent } from '@engram/harness-proto';
import { createLoginLink, createOrchestrator } from '@engram/orchestrator';
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { repositoryRoot } from './claude-binary.js';
import { startTestPostgres } from './test-postgres.js';
import { waitFor } from './wait-for.js';

export const STAGE_OWNER: Actor = { id: 'local', name: 'you' };

/** One session and the agent that plays in it. */
export interface StagedSession {
  readonly id: string;
  /** Id of the prompt it was made with: what its first run starts from. */
  readonly promptId: string;
  /** Appends what an agent tells, claiming the session first when nobody holds it. */
  play(...events: readonly HarnessEvent[]): Promise<void>;
  /** Text that streams and is not stored. */
  chunk(runId: string, messageId: string, text: string): void;
  /** Claims the session for something it was sent. */
  wake(): Promise<void>;
  sleep(): Promise<void>;
  /** The agent could not be started. */
  fail(message: string): Promise<void>;
  /** An answer that was stored did not reach the agent. */
  failAnswer(toolCallId: string, message: string): Promise<void>;
}

export interface NewStagedSession {
  readonly title: string;
  readonly prompt: string;
  readonly model?: string;
  readonly workspace?: Workspace;
}

export interface WebStage {
  readonly url: string;
  readonly desk: Coordinator;
  session(input: NewStagedSession): Promise<StagedSession>;
  /** A browser profile that is signed in. */
  signIn(browser: Browser, options?: BrowserContextOptions): Promise<BrowserContext>;
  /** False cuts every connection and takes no new one. */
  setLink(up: boolean): Promise<void>;
  /** What the machine that runs agents says of itself. */
  setHost(change: Partial<HostInfo>): Promise<void>;
  stop(): Promise<void>;
}

const LEASE_MS = 3_600_000;
const HEARTBEAT_MS = 4_000;
const HOST: HostInfo = {
  host_id: '0b5f6e8e-6c0a-4a53-9f52-7d7a4f1e2c11',
  name: 'stage',
  version: '0.1.0',
  pid: process.pid,
  isolation: 'process',
  slots: 1_000,
  credentials: 'environment',
  demo: true,
};

interface Hold {
  readonly epoch: number;
  seq: number;
}

/** A stretch of wire before the server that can be cut. */
async function createLink(target: () => number): Promise<{ port: number; set(up: boolean): void; close(): void }> {
  const sockets = new Set<net.Socket>();
  let up = true;
  const server = net.createServer((near) => {
    if (!up) return void near.destroy();
    const far = net.connect(target(), '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the link has no port');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    set(next) {
      up = next;
      if (!up) cut();
    },
    close() {
      cut();
      server.close();
    },
  };
}

/** As the real server says it: the version of this installation. */
function installedVersion(): string {
  const value: unknown = JSON.parse(readFileSync(`${repositoryRoot}/packages/cli/package.json`, 'utf8'));
  return typeof value === 'object' && value !== null && 'version' in value ? String(value.version) : '';
}

export async function startWebStage(): Promise<WebStage> {
  const postgres = await startTestPostgres();
  const { log } = postgres;
  const desk = await createCoordinator({ connection: postgres.connection, log, leaseMs: LEASE_MS, pollMs: 200 });
  let host = HOST;
  await desk.heartbeat(host);
  const heart = setInterval(() => void desk.heartbeat(host).catch(() => undefined), HEARTBEAT_MS);
  let serverPort = 0;
  const link = await createLink(() => serverPort);
  const url = `http://127.0.0.1:${link.port}`;
  const server = await createOrchestrator({
    desk,
    log,
    webRoot: `${repositoryRoot}/packages/web/dist`,
    port: 0,
    publicUrl: url,
    workspaceRoots: ['/'],
    statusInfo: { version: installedVersion(), default_workspace: '/home/dev/src' },
    holdMs: 120_000,
  });
  serverPort = server.port;

  const holds = new Map<string, Hold>();
  function keep(claims: readonly Claim[]): void {
    for (const { session, epoch, lastHarnessSeq } of claims) holds.set(session.id, { epoch, seq: lastHarnessSeq });
  }

  async function hold(id: string): Promise<Hold> {
    return waitFor(
      async () => {
        if (!holds.has(id)) keep(await desk.claimSessions(host.host_id, 1_000));
        return holds.get(id);
      },
      10_000,
      'the session to be claimed',
    );
  }

  async function append(id: string, events: readonly HarnessEvent[]): Promise<void> {
    const held = await hold(id);
    for (let at = 0; at < events.length; at += 500) {
      const part = events.slice(at, at + 500).map((event) => {
        held.seq += 1;
        return { seq: held.seq, event };
      });
      const outcome = await desk.appendEvents(id, held.epoch, part);
      if (!outcome.ok) throw new Error(`the events were not taken: ${outcome.reason}`);
    }
  }

  async function release(id: string, to: 'idle' | 'failed'): Promise<void> {
    const { epoch } = await hold(id);
    const outcome = await desk.releaseLease(id, epoch, to);
    if (!outcome.ok) throw new Error(`the session was not released: ${outcome.reason}`);
    holds.delete(id);
  }

  function staged(id: string, promptId: string): StagedSession {
    return {
      id,
      promptId,
      play: (...events) => append(id, events),
      chunk: (runId, messageId, text) =>
        desk.publishChunk(id, { type: 'agent_message_chunk', run_id: runId, message_id: messageId, chunk: text }),
      async wake() {
        await hold(id);
      },
      async sleep() {
        await release(id, 'idle');
      },
      async fail(message) {
        const { epoch } = await hold(id);
        await desk.appendHostEvent(id, epoch, { type: 'session_error', code: 'agent_start_failed', message });
        await release(id, 'failed');
      },
      async failAnswer(toolCallId, message) {
        const { epoch } = await hold(id);
        const event = { type: 'answer_failed', tool_call_id: toolCallId, code: 'not_delivered', message } as const;
        await desk.appendHostEvent(id, epoch, event);
      },
    };
  }

  let cookies: Awaited<ReturnType<BrowserContext['storageState']>> | undefined;
  return {
    url,
    desk,
    async session({ title, prompt, model, workspace = { kind: 'path', path: '/home/dev/src/importer' } }) {
      const made = await desk.createSession({
        owner: STAGE_OWNER,
        title,
        prompt,
        agent: 'claude',
        workspace,
        ...(model === undefined ? {} : { model }),
      });
      return staged(made.id, made.undelivered[0]?.id ?? '');
    },
    async signIn(browser, contextOptions = {}) {
      if (cookies === undefined) {
        const context = await browser.newContext();
        const page = await context.newPage();
        await page.goto((await createLoginLink(desk, STAGE_OWNER, url)).url);
        cookies = await context.storageState();
        await context.close();
        cookies = { ...cookies, origins: [] };
      }
      return browser.newContext({ viewport: { width: 1360, height: 860 }, ...contextOptions, storageState: cookies });
    },
    async setLink(up) {
      link.set(up);
    },
    async setHost(change) {
      host = { ...host, ...change };
      await desk.heartbeat(host);
    },
    async stop() {
      clearInterval(heart);
      link.close();
      await server.close();
      await desk.close();
      await postgres.stop();
    },
  };
}
