// A whole Engram for a test: the real `engram up` as a child process, on a free port and a temporary
// data folder, with one pinned CLI version and, if the test brings one, its scripted model.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClient, type ApiEvent, createApiClient } from '@engram/cli';
import type { DemoModel } from '@engram/demo-model';
import { openRunDir } from '@engram/host-agent';
import { claudeBinary, repositoryRoot } from './claude-binary.js';
import { cleanEnvironment } from './clean-environment.js';
import { type ProcessRow, readProcessTable } from './process-table.js';
import { waitFor } from './wait-for.js';

export interface EngramOptions {
  /** A pinned version; without it ENGRAM_CLAUDE_BIN is not set. */
  readonly claudeVersion?: string;
  /** An existing data folder (kept at the end); by default a new one (removed at the end). */
  readonly dataDir?: string;
  readonly port?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** The scripted model that every session talks to, with a made-up key. */
  readonly model?: DemoModel;
  readonly idleMs?: number;
  readonly args?: readonly string[];
}

export interface Exit {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

export interface Engram {
  readonly url: string;
  /** The one-time link that was printed. */
  readonly link: string;
  readonly token: string;
  readonly dataDir: string;
  readonly port: number;
  readonly api: EngramApi;
  readonly pids: {
    readonly up: number;
    readonly serve: number;
    readonly host: number;
    readonly postgres: number | undefined;
  };
  readonly exited: Promise<Exit>;
  /** What `up` wrote to stderr so far. */
  stderr(): string;
  processTable(): readonly ProcessRow[];
  agents(): readonly ProcessRow[];
  /** SIGKILL to the server process alone; resolves when `up` has ended because of it. */
  killServer(): Promise<Exit>;
  /** SIGKILL to everything, PostgreSQL and agents included; resolves when nothing is left. */
  killAll(): Promise<void>;
  /** SIGTERM, as a person would; removes a data folder it made. */
  stop(): Promise<Exit>;
}

export interface EngramApi extends ApiClient {
  /** Follows the log from its start until an event satisfies the predicate; gives all events up to it. */
  eventsUntil(
    id: string,
    predicate: (event: ApiEvent, before: readonly ApiEvent[]) => boolean,
    timeoutMs?: number,
  ): Promise<readonly ApiEvent[]>;
}

const START_MS = 60_000;

/** Runs `engram up` whatever comes of it; for tests of starts that must fail. */
export function spawnUp(
  dataDir: string,
  options: Omit<EngramOptions, 'dataDir'> = {},
): ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream } {
  const { claudeVersion, model, idleMs, port = 0, env = {}, args = [] } = options;
  const child = spawn(
    process.execPath,
    [
      join(repositoryRoot, 'packages/cli/dist/main.js'),
      'up',
      '--json',
      '--data-dir',
      dataDir,
      '--port',
      String(port),
      ...args,
    ],
    {
      env: cleanEnvironment({
        ...(claudeVersion === undefined ? {} : { ENGRAM_CLAUDE_BIN: claudeBinary(claudeVersion) }),
        ...(model === undefined ? {} : { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'made-up-for-tests' }),
        ...(idleMs === undefined ? {} : { ENGRAM_IDLE_MS: String(idleMs) }),
        ...env,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  return child;
}

export async function startEngram(options: EngramOptions = {}): Promise<Engram> {
  const ownFolder = options.dataDir === undefined;
  const dataDir = await realpath(options.dataDir ?? (await mkdtemp(join(tmpdir(), 'engram-test-'))));
  const child = spawnUp(dataDir, options);
  let stderr = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (chunk: string) => {
    stderr += chunk;
  });
  const exited = new Promise<Exit>((resolve) => {
    child.on('close', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
  });
  const line = await firstLine(child.stdout, exited, START_MS).catch((cause: unknown) => {
    child.kill('SIGKILL');
    throw new Error(`engram did not start: ${stderr.trim() || String(cause)}`, { cause });
  });
  const ready = parseReady(line);
  const pids = { up: child.pid ?? 0, ...ready.pids };
  const known = [pids.up, pids.serve, pids.host, ...(pids.postgres === undefined ? [] : [pids.postgres])];
  const token = (await readFile(join(dataDir, 'token'), 'utf8')).trim();
  const client = createApiClient({ url: ready.url, token });
  const table = (): readonly ProcessRow[] => readProcessTable(dataDir, known);
  const removeFolder = async (): Promise<void> => {
    if (!ownFolder) return;
    const runDir = await openRunDir(dataDir);
    await rm(runDir, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  };

  return {
    url: ready.url,
    link: ready.link,
    token,
    dataDir,
    port: Number(new URL(ready.url).port),
    api: { ...client, eventsUntil: (id, predicate, ms) => eventsUntil(client, id, predicate, ms) },
    pids,
    exited,
    stderr: () => stderr,
    processTable: table,
    agents: () => table().filter(({ kind }) => kind === 'agent'),
    async killServer() {
      process.kill(pids.serve, 'SIGKILL');
      return exited;
    },
    async killAll() {
      // `up` first: it must not clean up what this is meant to leave in pieces.
      const left = (): readonly ProcessRow[] => table();
      await waitFor(
        () => {
          const rows = left();
          for (const row of [...rows].sort((a, b) => Number(b.kind === 'up') - Number(a.kind === 'up'))) kill(row.pid);
          return rows.length === 0;
        },
        10_000,
        'everything to be gone after SIGKILL',
      );
      await exited;
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      const exit = await exited;
      await removeFolder();
      return exit;
    },
  };
}

async function eventsUntil(
  client: ApiClient,
  id: string,
  predicate: (event: ApiEvent, before: readonly ApiEvent[]) => boolean,
  timeoutMs = 60_000,
): Promise<readonly ApiEvent[]> {
  const seen: ApiEvent[] = [];
  const stopper = new AbortController();
  const timer = setTimeout(() => stopper.abort(), timeoutMs);
  try {
    for await (const event of client.stream(id, { signal: stopper.signal })) {
      if (event.idx === undefined) continue;
      const done = predicate(event, seen);
      seen.push(event);
      if (done) return seen;
    }
  } finally {
    clearTimeout(timer);
    stopper.abort();
  }
  throw new Error(`waited ${timeoutMs} ms for an event; there were ${seen.map((event) => event.type).join(', ')}`);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It went by itself.
  }
}

function firstLine(stream: NodeJS.ReadableStream, ended: Promise<Exit>, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => reject(new Error(`no sign of life within ${timeoutMs} ms`)), timeoutMs);
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      text += chunk;
      const at = text.indexOf('\n');
      if (at < 0) return;
      clearTimeout(timer);
      resolve(text.slice(0, at));
    });
    void ended.then(({ code, signal }) => {
      clearTimeout(timer);
      reject(new Error(`it ended with ${signal ?? code}`));
    });
  });
}

interface ReadyLine {
  readonly url: string;
  readonly link: string;
  readonly pids: { readonly serve: number; readonly host: number; readonly postgres: number | undefined };
}

function parseReady(line: string): ReadyLine {
  const value: unknown = JSON.parse(line);
  if (typeof value === 'object' && value !== null && 'url' in value && 'link' in value && 'pids' in value) {
    const { url, link, pids } = value;
    if (typeof pids === 'object' && pids !== null && 'serve' in pids && 'host' in pids) {
      const postgres = 'postgres' in pids ? Number(pids.postgres) : undefined;
      return {
        url: String(url),
        link: String(link),
        pids: { serve: Number(pids.serve), host: Number(pids.host), postgres },
      };
    }
  }
  throw new Error(`not a ready line: ${line}`);
}
