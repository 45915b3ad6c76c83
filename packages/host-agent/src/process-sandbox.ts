// The sandbox that isolates nothing and says so: the agent runs as the host's own user, in process
// groups of its own, with a listed environment and folders per session.

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Logger } from 'pino';
import { createAgentEnvironment, DEMO_MODEL } from './agent-environment.js';
import { endMarkedProcesses } from './marked-processes.js';
import type { ExecOptions, RunningSandbox, Sandbox, SandboxExit, SandboxSpec, SandboxStart } from './sandbox.js';
import { makeSessionFolder, removeSessionFolder, type SessionFolder, sessionFolder } from './session-folder.js';
import { prepareWorkspace, type WorkspaceRules } from './workspace.js';

export interface ProcessSandboxOptions {
  /** Real path. */
  readonly dataDir: string;
  readonly agentEnvironment: Readonly<Record<string, string>>;
  readonly demoModelUrl?: string;
  readonly workspace: Omit<WorkspaceRules, 'dataDir'>;
  readonly log: Logger;
}

const STREAM_TAIL_BYTES = 8 * 1024;
const REMOVE_GRACE_MS = 500;

export function createProcessSandbox(options: ProcessSandboxOptions): Sandbox {
  const owner = createHash('sha256').update(options.dataDir).digest('hex').slice(0, 16);
  const markOf = (sessionId: string): string => `${owner}.${sessionId}`;

  return {
    traits: {
      isolation: 'process',
      statement: 'no isolation: the agent can do whatever you can, including answering for you',
      enforcesFiles: false,
      enforcesNetwork: false,
      enforcesLimits: false,
    },

    async start(spec, { hadRun, signal }): Promise<SandboxStart> {
      if (spec.limits !== undefined || spec.network?.mode === 'model_only') {
        return {
          ok: false,
          code: 'limits_unsupported',
          message: 'The process sandbox can enforce neither limits nor a network policy. Choose another isolation.',
        };
      }
      if (spec.model === DEMO_MODEL && options.demoModelUrl === undefined) {
        return {
          ok: false,
          code: 'demo_unavailable',
          message: 'This host offers no demo model. Choose another model for the session.',
        };
      }
      const folder = sessionFolder(options.dataDir, spec.sessionId);
      const restored = !hadRun || (await stat(folder.state).catch(() => undefined)) !== undefined;
      await makeSessionFolder(folder);
      const env = createAgentEnvironment({
        allowed: options.agentEnvironment,
        folder,
        model: spec.model,
        demoModelUrl: options.demoModelUrl,
        sandboxMark: markOf(spec.sessionId),
      });
      const rules = { ...options.workspace, dataDir: options.dataDir };
      const workspace = await prepareWorkspace(spec.workspace, folder, rules, (argv, o) => exec(argv, env, o), signal);
      if (!workspace.ok) return workspace;
      return { ok: true, sandbox: openSandbox(spec, folder, workspace.path, env, restored) };
    },

    async remove(sessionId) {
      await endMarkedProcesses(markOf(sessionId), 'exact', REMOVE_GRACE_MS);
      await removeSessionFolder(sessionFolder(options.dataDir, sessionId));
    },

    endOrphans: () => endMarkedProcesses(`${owner}.`, 'prefix', REMOVE_GRACE_MS),
  };

  function openSandbox(
    spec: SandboxSpec,
    folder: SessionFolder,
    workspace: string,
    env: Readonly<Record<string, string>>,
    restored: boolean,
  ): RunningSandbox {
    return {
      sessionId: spec.sessionId,
      workspace,
      agentHome: folder.home,
      stateDir: folder.state,
      launch: { exec_prefix: [], env },
      restored,
      exec: (argv, execOptions) => exec(argv, env, execOptions),
      async stop(graceMs) {
        const ended = await endMarkedProcesses(markOf(spec.sessionId), 'exact', graceMs);
        if (ended > 0) options.log.info({ sessionId: spec.sessionId, ended }, 'ended processes the agent left running');
        return ended;
      },
      // One machine: the data folder is the store.
      store: () => Promise.resolve(),
    };
  }
}

async function exec(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  options: ExecOptions,
): Promise<SandboxExit> {
  const [file, ...args] = argv;
  if (file === undefined) return { timedOut: false, stdout: '', stderr: 'nothing to run' };
  const child = spawn(file, args, { cwd: options.cwd, env: { ...env, ...options.env }, detached: true, stdio: 'pipe' });
  const stdout = keepTail(child.stdout);
  const stderr = keepTail(child.stderr);
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.stdin ?? '');
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup(child);
  }, options.timeoutMs);
  const onAbort = (): void => killGroup(child);
  options.signal?.addEventListener('abort', onAbort, { once: true });
  if (options.signal?.aborted === true) onAbort();
  try {
    const ended = await new Promise<{ exitCode?: number; failure?: string }>((resolve) => {
      child.once('error', (error) => resolve({ failure: error.message }));
      child.once('close', (code) => resolve(code === null ? {} : { exitCode: code }));
    });
    return {
      ...(ended.exitCode === undefined ? {} : { exitCode: ended.exitCode }),
      timedOut,
      stdout: stdout(),
      stderr: ended.failure ?? stderr(),
    };
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener('abort', onAbort);
  }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}

function keepTail(stream: NodeJS.ReadableStream): () => string {
  let tail: Buffer = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]);
    if (tail.length > STREAM_TAIL_BYTES) tail = tail.subarray(tail.length - STREAM_TAIL_BYTES);
  });
  return () => tail.toString('utf8');
}
