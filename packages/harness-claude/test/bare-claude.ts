// The real CLI with an http hook in this process, for the tests of the pure parts: its stdout goes
// through our own stream reader, its hook is answered by the test.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClaudeMessage } from '../src/claude-message.js';
import { createClaudeStream } from '../src/claude-stream.js';
import { asRecord, asString, parseJson } from '../src/json-guards.js';

const agents = fileURLToPath(new URL('../../../agents/', import.meta.url));

export function claudeBinary(version: string): string {
  return join(
    agents,
    `claude-${version}/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  );
}

export interface HookCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}
export type HookReply = {
  readonly permissionDecision: 'defer' | 'allow' | 'deny';
  readonly updatedInput?: unknown;
  readonly permissionDecisionReason?: string;
};

export interface Stage {
  readonly root: string;
  readonly workspace: string;
  readonly configDir: string;
  readonly fires: HookCall[];
  /** Set by the test; may take its time. */
  decide: (call: HookCall) => HookReply | Promise<HookReply>;
  start(options?: { readonly resume?: string }): BareClaude;
  close(): Promise<void>;
}

export interface BareClaude {
  readonly process: ChildProcess;
  readonly messages: readonly ClaudeMessage[];
  send(text: string, uuid?: string): void;
  wait<T extends ClaudeMessage>(found: (message: ClaudeMessage) => message is T, timeoutMs?: number): Promise<T>;
  /** Closes stdin and waits for the exit. */
  end(): Promise<void>;
  kill(): Promise<void>;
}

export async function openStage(version: string, modelUrl: string): Promise<Stage> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'engram-transcript-')));
  const workspace = join(root, 'work_space.d');
  const configDir = join(root, 'home/.claude');
  mkdirSync(workspace);
  mkdirSync(configDir, { recursive: true });
  chmodSync(root, 0o700);
  const running = new Set<BareClaude>();
  const fires: HookCall[] = [];

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = asRecord(parseJson(Buffer.concat(chunks).toString('utf8'))) ?? {};
      const call = {
        id: asString(body.tool_use_id) ?? '',
        name: asString(body.tool_name) ?? '',
        input: body.tool_input,
      };
      fires.push(call);
      void Promise.resolve(stage.decide(call)).then((reply) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ hookSpecificOutput: { hookEventName: 'PreToolUse', ...reply } }));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const settings = join(root, 'settings.json');
  writeFileSync(
    settings,
    JSON.stringify({
      disableAllHooks: false,
      permissions: { allow: ['Bash', 'Write', 'Edit'] },
      hooks: {
        PreToolUse: [
          { matcher: 'AskUserQuestion', hooks: [{ type: 'http', url: `http://127.0.0.1:${port}/`, timeout: 600 }] },
        ],
      },
    }),
  );

  const stage: Stage = {
    root,
    workspace,
    configDir,
    fires,
    decide: () => ({ permissionDecision: 'defer' }),
    start({ resume } = {}) {
      const args = ['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'];
      args.push('--include-partial-messages', '--permission-prompt-tool', 'stdio', '--permission-mode', 'default');
      args.push('--settings', settings, ...(resume === undefined ? [] : ['--resume', resume]));
      const child = spawn(claudeBinary(version), args, {
        cwd: workspace,
        stdio: ['pipe', 'pipe', 'ignore'],
        env: {
          PATH: process.env.PATH,
          HOME: join(root, 'home'),
          CLAUDE_CONFIG_DIR: configDir,
          TERM: 'dumb',
          LANG: 'C.UTF-8',
          ANTHROPIC_BASE_URL: modelUrl,
          ANTHROPIC_API_KEY: 'sk-ant-made-up-0000000000000000',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          DISABLE_AUTOUPDATER: '1',
          CLAUDE_CODE_MAX_RETRIES: '1',
        },
      });
      const claude = watch(child);
      running.add(claude);
      child.once('exit', () => running.delete(claude));
      return claude;
    },
    async close() {
      await Promise.all([...running].map((claude) => claude.kill()));
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(root, { recursive: true, force: true });
    },
  };
  return stage;
}

function watch(child: ChildProcess): BareClaude {
  const messages: ClaudeMessage[] = [];
  const stream = createClaudeStream();
  const lookers = new Set<() => void>();
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const look = () => {
    for (const looker of lookers) looker();
  };
  child.stdout?.on('data', (chunk: Buffer) => {
    messages.push(...stream.push(chunk));
    look();
  });
  void exited.then(look);
  return {
    process: child,
    messages,
    send(text, uuid) {
      const line = { type: 'user', message: { role: 'user', content: text }, ...(uuid === undefined ? {} : { uuid }) };
      child.stdin?.write(`${JSON.stringify(line)}\n`);
    },
    wait(found, timeoutMs = 30_000) {
      return new Promise((resolve, reject) => {
        const done = (act: () => void) => {
          clearTimeout(timer);
          lookers.delete(looker);
          act();
        };
        const looker = () => {
          const hit = messages.find(found);
          if (hit) done(() => resolve(hit));
          else if (child.exitCode !== null) done(() => reject(new Error(`the CLI ended: ${seen(messages)}`)));
        };
        const timer = setTimeout(() => done(() => reject(new Error(`not seen in time: ${seen(messages)}`))), timeoutMs);
        lookers.add(looker);
        looker();
      });
    },
    async end() {
      child.stdin?.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await exited;
      clearTimeout(timer);
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function seen(messages: readonly ClaudeMessage[]): string {
  return messages.map((message) => message.type).join(' ');
}
