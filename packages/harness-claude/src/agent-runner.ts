// Starts the agent of a session as its version needs it (settings, hook way, argv) and speaks its
// stdin protocol: user lines, interrupts, replies to its requests. One process at a time: a second
// start while one lives is an error, not a race.

import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { HarnessAssignment } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { toAgentEnv } from './agent-env.js';
import type { ClaudeMessage } from './claude-message.js';
import { type AgentExit, type ClaudeProcess, startClaude } from './claude-process.js';
import { type ClaudeStream, createClaudeStream } from './claude-stream.js';
import { claudeVersion } from './claude-version.js';
import { HarnessError } from './harness-error.js';
import { toUserLine } from './prompt-line.js';
import { hasHttpHooks, writeSettings } from './settings.js';

const CLOSE_MS = 3000;
const TERM_MS = 3000;

export interface AgentRunnerOptions {
  readonly assignment: HarnessAssignment;
  /** argv of this program's hook-bridge, without socket. */
  readonly bridgeArgv: readonly string[];
  readonly hookWay: 'auto' | 'command';
  readonly hookPort: () => number;
  readonly onMessage: (message: ClaudeMessage) => void;
  readonly onExit: (exit: AgentExit) => void;
  readonly log: Logger;
}

export interface AgentRunner {
  /** What the hooks of the present agent must show. */
  readonly token: string;
  /** Finds out what a start needs, so that the start itself waits for nothing. */
  prepare(): void;
  start(resume: string | undefined): void;
  writePrompt(uuid: string, text: string): void;
  interrupt(): void;
  respond(requestId: string, response: Readonly<Record<string, unknown>>): void;
  refuse(requestId: string, error: string): void;
  end(): void;
  kill(): void;
}

export function createAgentRunner(options: AgentRunnerOptions): AgentRunner {
  const { assignment, log } = options;
  let claude: ClaudeProcess | undefined;
  let state: 'absent' | 'starting' | 'live' | 'ending' = 'absent';
  let token = '';
  let version: string | undefined;
  let asking: Promise<string> | undefined;
  let settingsFor: string | undefined;
  /** Lines written before the process is there. */
  let early: string[] = [];

  const exited = (exit: AgentExit) => {
    claude = undefined;
    state = 'absent';
    // The next one may be another: programs are replaced between two starts.
    version = undefined;
    early = [];
    log.info({ code: exit.code, signal: exit.signal, leftovers: exit.leftovers }, 'agent exited');
    options.onExit(exit);
  };

  const settingsPath = join(assignment.state_dir, 'settings.json');

  /** The same for every agent of this harness: written once. Says whether hooks go over http. */
  const provideSettings = (of: string): boolean => {
    const http = options.hookWay === 'auto' && hasHttpHooks(of);
    if (settingsFor === of) return http;
    writeSettings(
      settingsPath,
      http
        ? { type: 'http', port: options.hookPort() }
        : { type: 'command', argv: [...options.bridgeArgv, assignment.hook_socket] },
    );
    settingsFor = of;
    return http;
  };

  const askVersion = (): string | Promise<string> => {
    if (asking) return asking;
    const answer = claudeVersion(assignment.claude_bin, assignment.launch.env, assignment.state_dir);
    if (typeof answer === 'string') {
      version = answer;
      return answer;
    }
    asking = answer
      .then((found) => {
        version = found;
        return found;
      })
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };

  const launch = async (resume: string | undefined): Promise<void> => {
    const { claude_bin: bin, launch, state_dir: stateDir } = assignment;
    const known = version ?? askVersion();
    // Without a wait when it is known: then the process is there before anything else is done.
    const present = typeof known === 'string' ? known : await known;
    // Ended before it began.
    if (state !== 'starting') return exited({ code: 0, signal: null, stderrTail: '', leftovers: false });
    token = randomBytes(24).toString('hex');
    const http = provideSettings(present);
    const stream = createClaudeStream();
    claude = startClaude(
      {
        argv: [...launch.exec_prefix, bin, ...toArgs(settingsPath, assignment.model, resume)],
        env: toAgentEnv(launch.env, { token, ...(http ? {} : { socketPath: assignment.hook_socket }) }),
        cwd: assignment.workspace,
        stateDir,
        marker: token,
      },
      {
        onOutput: (chunk) => deliver(stream, stream.push(chunk)),
        onExit: (exit) => {
          deliver(stream, stream.end());
          exited(exit);
        },
      },
    );
    state = 'live';
    log.info(
      { pid: claude.pid, version: present, resumed: resume !== undefined, hooks: http ? 'http' : 'command' },
      'agent started',
    );
    for (const line of early) claude.write(line);
    early = [];
  };

  const deliver = (stream: ClaudeStream, messages: readonly ClaudeMessage[]) => {
    for (const message of messages) {
      if (message.type === 'ignored' && !message.known) {
        log.info({ type: message.original_type, counters: stream.counters }, 'line of a kind unknown here');
      }
      options.onMessage(message);
    }
  };

  const write = (line: string) => {
    if (state === 'starting') early.push(line);
    else claude?.write(line);
  };
  const writeJson = (value: unknown): void => write(`${JSON.stringify(value)}\n`);

  return {
    get token() {
      return token;
    },
    prepare() {
      // An agent that is started right now does it first.
      Promise.resolve()
        .then(() => version ?? askVersion())
        .then(provideSettings)
        .catch((error: unknown) => log.warn({ err: error }, 'agent cannot be looked at'));
    },
    start(resume) {
      if (state !== 'absent') throw new HarnessError('agent_still_there', 'an agent of this session still runs');
      state = 'starting';
      launch(resume).catch((error: unknown) => {
        const startError = error instanceof Error ? error.message : String(error);
        exited({ code: null, signal: null, stderrTail: '', startError, leftovers: false });
      });
    },
    writePrompt: (uuid, text) => write(toUserLine(uuid, text)),
    interrupt: () =>
      writeJson({ type: 'control_request', request_id: randomUUID(), request: { subtype: 'interrupt' } }),
    respond: (requestId, response) =>
      writeJson({ type: 'control_response', response: { subtype: 'success', request_id: requestId, response } }),
    refuse: (requestId, error) =>
      writeJson({ type: 'control_response', response: { subtype: 'error', request_id: requestId, error } }),
    end() {
      if (state === 'absent') return;
      state = 'ending';
      claude?.end(CLOSE_MS, TERM_MS);
    },
    kill() {
      if (state === 'absent') return;
      state = 'ending';
      claude?.kill();
    },
  };
}

/** Mode and permission channel are named always: newer CLIs choose others by themselves. */
function toArgs(settingsPath: string, model: string | undefined, resume: string | undefined): string[] {
  return [
    '-p',
    '--input-format',
    'stream-json',
    '--output-format',
    'stream-json',
    '--verbose',
    '--include-partial-messages',
    '--replay-user-messages',
    '--permission-prompt-tool',
    'stdio',
    '--permission-mode',
    'default',
    '--settings',
    settingsPath,
    ...(model === undefined ? [] : ['--model', model]),
    ...(resume === undefined ? [] : ['--resume', resume]),
  ];
}
