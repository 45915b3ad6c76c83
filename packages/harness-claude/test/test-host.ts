// A host for one session, as small as it can be: the real socket, the real wire, the real harness
// process, the log in memory. It does what a host must (attach, reconcile, acknowledge) and leaves
// every other order to the test.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Answers,
  decodeAttach,
  decodeHarnessFrame,
  encodeAttachAck,
  encodeFrame,
  FrameReader,
  frameCommand,
  type HarnessAssignment,
  type HarnessCommand,
  type HarnessEvent,
  isStoredEvent,
} from '@engram/harness-proto';

export const CLI_VERSIONS = ['2.1.183', '2.1.332'] as const;
export type CliVersion = (typeof CLI_VERSIONS)[number];
/** For what is the same on every version: the newest, or all in the matrix (`npm test -- --matrix`). */
export const VERSIONS_TO_TEST: readonly CliVersion[] =
  process.env.ENGRAM_TEST_MATRIX === '1' ? CLI_VERSIONS : ['2.1.332'];

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const MAIN = join(ROOT, 'packages/harness-claude/dist/main.js');

export function claudeBinary(version: CliVersion): string {
  return join(
    ROOT,
    `agents/claude-${version}/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  );
}

export type EventOf<T extends HarnessEvent['type']> = Extract<HarnessEvent, { type: T }>;

export interface TestHostOptions {
  readonly claudeBin: string;
  readonly modelUrl: string;
  readonly holdMs?: number;
  readonly harnessEnv?: Readonly<Record<string, string>>;
  readonly agentEnv?: Readonly<Record<string, string>>;
  /** See bent-cli.mjs. */
  readonly bent?: BentCli;
  /** Names with blanks, quotes and dollars for workspace, hook socket and the harness's own program. */
  readonly oddPaths?: boolean;
}

export interface BentCli {
  readonly earlyStop?: boolean;
  readonly holdStdinMs?: number;
  readonly tear?: boolean;
  readonly without?: readonly string[];
}

const BENT_CLI = fileURLToPath(new URL('./bent-cli.mjs', import.meta.url));
const ODD = `it's "odd" $HOME name`;

export class TestHost {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'engram-h-')));
  readonly workspace: string;
  readonly home = join(this.root, 'home');
  readonly stateDir = join(this.root, 'state');
  readonly sessionId = randomUUID();
  /** The log: what was stored, in order. */
  readonly events: HarnessEvent[] = [];
  readonly chunks: EventOf<'agent_message_chunk'>[] = [];
  stderr = '';
  epoch = 1;
  /** Acknowledge what was stored, as a host does. */
  acknowledges = true;
  attaches = 0;
  /** How the next agent is bent. */
  bent: BentCli | undefined;
  /** Told with the next assignment. */
  ahead: HarnessAssignment['ahead'];
  /** Attaches of an epoch below this are stale. */
  refuseEpoch = 0;
  private readonly secret = randomBytes(32).toString('hex');
  private readonly options: TestHostOptions;
  private readonly waiters = new Set<() => void>();
  private server: Server | undefined;
  private socket: Socket | undefined;
  private harness: ChildProcess | undefined;
  private exited: Promise<number | null> = Promise.resolve(0);

  constructor(options: TestHostOptions) {
    this.options = options;
    this.bent = options.bent;
    this.workspace = join(this.root, options.oddPaths ? ODD : 'work space');
    for (const folder of [this.workspace, this.home, this.stateDir]) mkdirSync(folder, { recursive: true });
  }

  get assignment(): HarnessAssignment {
    return {
      session_id: this.sessionId,
      epoch: this.epoch,
      socket_path: join(this.root, 'h.sock'),
      secret: this.secret,
      workspace: this.workspace,
      agent_home: this.home,
      state_dir: this.stateDir,
      run_dir: this.root,
      claude_bin: this.options.claudeBin,
      hook_socket: join(this.root, this.options.oddPaths ? `${ODD}.sock` : 'k.sock'),
      launch: {
        exec_prefix: this.bent ? [process.execPath, BENT_CLI, JSON.stringify(this.bent)] : [],
        env: {
          PATH: process.env.PATH ?? '',
          HOME: this.home,
          CLAUDE_CONFIG_DIR: join(this.home, '.claude'),
          TERM: 'dumb',
          LANG: 'C.UTF-8',
          ANTHROPIC_BASE_URL: this.options.modelUrl,
          ANTHROPIC_API_KEY: 'sk-ant-made-up-0000000000000000000000',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          DISABLE_AUTOUPDATER: '1',
          ...this.options.agentEnv,
        },
      },
      hold_ms: this.options.holdMs ?? 120_000,
      ...(this.ahead === undefined ? {} : { ahead: this.ahead }),
    };
  }

  /** Starts listening (once) and a harness process; resolves when it has attached. */
  async start(): Promise<void> {
    await this.listen();
    const before = this.attaches;
    this.spawnHarness();
    await this.until(() => this.attaches > before, 'attach');
  }

  private listen(): Promise<void> {
    if (this.server) return Promise.resolve();
    const server = createServer((socket) => this.onConnection(socket));
    this.server = server;
    return new Promise((resolve) => server.listen(this.assignment.socket_path, resolve));
  }

  private spawnHarness(): void {
    const child = spawn(process.execPath, [this.program(), 'run'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH ?? '', ...this.options.harnessEnv },
    });
    this.harness = child;
    child.stderr.on('data', (chunk) => {
      this.stderr += String(chunk);
    });
    child.stdin.write(`${JSON.stringify(this.assignment)}\n`);
    this.exited = new Promise((resolve) => child.on('exit', (code) => resolve(code)));
  }

  /** The harness's entry: a copy below a path with odd names when those are asked for (node loads none with a backslash). */
  private program(): string {
    if (!this.options.oddPaths) return MAIN;
    const folder = join(this.root, `${ODD} program`);
    cpSync(join(MAIN, '..'), join(folder, 'dist'), { recursive: true });
    cpSync(join(MAIN, '../../package.json'), join(folder, 'package.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    return join(folder, 'dist/main.js');
  }

  private onConnection(socket: Socket): void {
    const reader = new FrameReader();
    let attached = false;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      for (const body of reader.push(chunk)) {
        if (attached) this.onFrame(body);
        else {
          attached = true;
          this.onAttach(body, socket);
        }
      }
    });
  }

  private onAttach(body: Uint8Array, socket: Socket): void {
    const { value: attach } = decodeAttach(body);
    if (attach.epoch < Math.max(this.epoch, this.refuseEpoch) || attach.attach_token !== this.secret) {
      socket.end(encodeFrame(encodeAttachAck({ ok: false, message: 'stale_epoch', last_stored_seq: 0 })));
      return;
    }
    this.socket?.destroy();
    this.socket = socket;
    socket.write(encodeFrame(encodeAttachAck({ ok: true, last_stored_seq: this.events.length })));
    this.send(this.reconcile());
    this.attaches += 1;
    this.wake();
  }

  /** The questions as the log has them. */
  reconcile(): HarnessCommand {
    const closed = new Set(
      this.events.flatMap((event) =>
        event.type === 'question_answered' || event.type === 'question_dismissed' ? [event.tool_call_id] : [],
      ),
    );
    const open = this.all('user_question').filter((event) => !closed.has(event.tool_call_id));
    return {
      type: 'reconcile',
      open: open.map(({ tool_call_id, questions }) => ({ tool_call_id, questions })),
      closed: [...closed],
    };
  }

  private onFrame(body: Uint8Array): void {
    const { value: frame } = decodeHarnessFrame(body);
    if (frame.type !== 'event') return;
    if (!isStoredEvent(frame.event)) {
      if (frame.event.type === 'agent_message_chunk') this.chunks.push(frame.event);
      return;
    }
    this.events.push(frame.event);
    if (this.acknowledges) this.send({ type: 'acknowledge', stored_seq: this.events.length });
    this.wake();
  }

  send(command: HarnessCommand): void {
    if (this.socket && !this.socket.destroyed) this.socket.write(frameCommand(command));
  }

  prompt(text: string, promptId: string = randomUUID()): string {
    this.send({ type: 'prompt', text, prompt_id: promptId });
    return promptId;
  }

  answer(toolCallId: string, answers: Answers): void {
    this.send({ type: 'answer_question', tool_call_id: toolCallId, answers });
  }

  all<T extends HarnessEvent['type']>(type: T): EventOf<T>[] {
    return this.events.filter((event): event is EventOf<T> => event.type === type);
  }

  types(): string[] {
    return this.events.map((event) => event.type);
  }

  /** The nth event of a type (from 1), past or future. */
  async event<T extends HarnessEvent['type']>(type: T, nth = 1, timeoutMs = 30_000): Promise<EventOf<T>> {
    await this.until(() => this.all(type).length >= nth, `${type} no. ${nth}`, timeoutMs);
    const found = this.all(type)[nth - 1];
    if (!found) throw new Error(`no ${type}`);
    return found;
  }

  /** Idle is the last thing that was said; a notice, such as what runs in the background, may follow it at once. */
  idle(timeoutMs = 30_000): Promise<void> {
    const isIdle = () => this.events.findLast((event) => event.type !== 'notice')?.type === 'harness_idle';
    return this.until(isIdle, 'harness_idle', timeoutMs);
  }

  async until(condition: () => boolean, what: string, timeoutMs = 30_000): Promise<void> {
    const end = Date.now() + timeoutMs;
    while (!condition()) {
      if (Date.now() > end) {
        const log = this.stderr.split('\n').slice(-40).join('\n');
        throw new Error(`no ${what} within ${timeoutMs} ms; have ${JSON.stringify(this.events.slice(-12))}\n${log}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, 50);
        const { waiters } = this;
        function done(): void {
          clearTimeout(timer);
          waiters.delete(done);
          resolve();
        }
        waiters.add(done);
      });
    }
  }

  private wake(): void {
    for (const waiter of [...this.waiters]) waiter();
  }

  /** Living processes of the agent's, children included. */
  agentPids(): number[] {
    const home = `HOME=${this.home}`;
    return readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .filter((pid) => {
        try {
          const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
          if (stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')) return false;
          return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(home);
        } catch {
          return false;
        }
      })
      .map(Number);
  }

  cutLink(): void {
    this.socket?.destroy();
  }

  /** Every line of the agent's conversations. */
  transcript(): string {
    const projects = join(this.home, '.claude/projects');
    if (!existsSync(projects)) return '';
    return readdirSync(projects, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => readFileSync(join(projects, name), 'utf8'))
      .join('');
  }

  write(name: string, content: string): void {
    writeFileSync(join(this.workspace, name), content);
  }

  exit(): Promise<number | null> {
    return this.exited;
  }

  killHarness(): Promise<number | null> {
    this.harness?.kill('SIGKILL');
    return this.exited;
  }

  /** Puts the session to sleep as a host does. */
  sleep(): Promise<number | null> {
    this.send({ type: 'shutdown', grace_secs: 10 });
    return this.exited;
  }

  async close(): Promise<void> {
    this.harness?.kill('SIGKILL');
    await this.exited;
    for (const pid of this.agentPids()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself between the look and the signal.
      }
    }
    this.socket?.destroy();
    await new Promise((resolve) => (this.server ? this.server.close(resolve) : resolve(undefined)));
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
