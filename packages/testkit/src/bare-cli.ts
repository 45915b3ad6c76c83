// The Claude Code CLI on its own, with a hook server in this process and nothing of Engram between:
// what probes ask and what benches take as their floor. Always a clean environment, a made-up key
// and loopback.

import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

export interface HookCall {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: Readonly<Record<string, unknown>>;
}

export type HookReply =
  | { readonly decision: 'defer' }
  | { readonly decision: 'allow'; readonly updatedInput?: Readonly<Record<string, unknown>> }
  | { readonly decision: 'deny'; readonly reason: string };

export interface HookServer {
  readonly url: string;
  /** Every fire, in order of arrival. */
  readonly fires: readonly HookCall[];
  close(): Promise<void>;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toHookCall(body: string): HookCall {
  const raw: unknown = JSON.parse(body);
  if (!isRecord(raw) || !isRecord(raw.tool_input)) throw new Error('hook body without tool_input');
  return { tool_name: String(raw.tool_name), tool_use_id: String(raw.tool_use_id), tool_input: raw.tool_input };
}

/** An http hook. `decide` may take as long as it likes; that is how a reply is held. */
export async function startHookServer(decide: (call: HookCall) => Promise<HookReply>): Promise<HookServer> {
  const fires: HookCall[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      const call = toHookCall(body);
      fires.push(call);
      void decide(call).then((reply) => {
        const output: Record<string, unknown> = { hookEventName: 'PreToolUse', permissionDecision: reply.decision };
        if (reply.decision === 'allow' && reply.updatedInput) output.updatedInput = reply.updatedInput;
        if (reply.decision === 'deny') output.permissionDecisionReason = reply.reason;
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ hookSpecificOutput: output }));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('hook server has no port');
  return {
    url: `http://127.0.0.1:${address.port}/`,
    fires,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Folders and settings of one bare CLI, reused over its resumes. */
export interface BareHome {
  readonly root: string;
  readonly workspace: string;
  readonly home: string;
  readonly settings: string;
  remove(): void;
}

export function makeBareHome(settings: Readonly<Record<string, unknown>>): BareHome {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'engram-bare-'));
  const workspace = path.join(root, 'workspace');
  const home = path.join(root, 'home');
  fs.mkdirSync(workspace);
  fs.mkdirSync(home);
  const file = path.join(root, 'settings.json');
  fs.writeFileSync(file, JSON.stringify(settings));
  return { root, workspace, home, settings: file, remove: () => fs.rmSync(root, { recursive: true, force: true }) };
}

/** Settings with one http hook for the question tool. */
export function questionHookSettings(
  hookUrl: string,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const hooks = [{ type: 'http', url: hookUrl, timeout: 600 }];
  return { hooks: { PreToolUse: [{ matcher: 'AskUserQuestion', hooks }] }, ...more };
}

export type StreamLine = Readonly<Record<string, unknown>>;

export interface BareCli {
  readonly process: ChildProcess;
  readonly lines: readonly StreamLine[];
  readonly exited: Promise<void>;
  wait(predicate: (line: StreamLine) => boolean, timeoutMs?: number): Promise<StreamLine>;
  user(text: string): void;
  send(line: StreamLine): void;
  /** Closes stdin and waits for the exit; kills after five seconds. */
  end(): Promise<void>;
}

export interface BareCliOptions {
  readonly bin: string;
  readonly modelUrl: string;
  readonly home: BareHome;
  readonly resume?: string;
  /** False leaves `--permission-prompt-tool stdio` out. */
  readonly permissionPrompt?: boolean;
  /** False leaves `--include-partial-messages` out. */
  readonly partialMessages?: boolean;
  readonly permissionMode?: string;
  readonly args?: readonly string[];
  /** Beside the clean environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export function startBareCli(options: BareCliOptions): BareCli {
  const args = ['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'];
  if (options.partialMessages !== false) args.push('--include-partial-messages');
  args.push('--permission-mode', options.permissionMode ?? 'default', '--settings', options.home.settings);
  if (options.permissionPrompt !== false) args.push('--permission-prompt-tool', 'stdio');
  if (options.resume) args.push('--resume', options.resume);
  args.push(...(options.args ?? []));
  const child = spawn(options.bin, args, {
    cwd: options.home.workspace,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env.PATH,
      HOME: options.home.home,
      TERM: 'dumb',
      LANG: 'C.UTF-8',
      ANTHROPIC_BASE_URL: options.modelUrl,
      ANTHROPIC_API_KEY: 'sk-ant-made-up-0000000000000000',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      ...options.env,
    },
  });
  const lines: StreamLine[] = [];
  const waiters = new Set<() => void>();
  let rest = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      const line = rest.subarray(0, end).toString('utf8');
      rest = rest.subarray(end + 1);
      if (!line.startsWith('{')) continue;
      const parsed: unknown = JSON.parse(line);
      if (isRecord(parsed)) lines.push(parsed);
    }
    for (const wake of waiters) wake();
  });
  const exited = new Promise<void>((resolve) => {
    child.on('exit', () => {
      resolve();
      for (const wake of waiters) wake();
    });
  });
  const send = (line: StreamLine) => {
    child.stdin.write(`${JSON.stringify(line)}\n`);
  };
  return {
    process: child,
    lines,
    exited,
    send,
    user: (text) => send({ type: 'user', message: { role: 'user', content: text } }),
    wait: (predicate, timeoutMs = 30_000) =>
      new Promise((resolve, reject) => {
        const finish = (act: () => void) => {
          clearTimeout(timer);
          waiters.delete(look);
          act();
        };
        const look = () => {
          const hit = lines.find(predicate);
          if (hit) finish(() => resolve(hit));
          else if (child.exitCode !== null)
            finish(() => reject(new Error(`CLI ended (${child.exitCode}): ${seen(lines)}`)));
        };
        const timer = setTimeout(() => finish(() => reject(new Error(`not seen in time: ${seen(lines)}`))), timeoutMs);
        waiters.add(look);
        look();
      }),
    end: async () => {
      child.stdin.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await exited;
      clearTimeout(timer);
    },
  };
}

function seen(lines: readonly StreamLine[]): string {
  return lines.map((line) => [line.type, line.subtype].filter((word) => typeof word === 'string').join('/')).join(' ');
}

/** Private and resident memory of a process in MB (Linux). */
export function processMemoryMb(pid: number): { readonly resident: number; readonly private: number } {
  const text = fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kb = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return {
    resident: Math.round(kb('Rss') / 1024),
    private: Math.round((kb('Private_Dirty') + kb('Private_Clean')) / 1024),
  };
}
