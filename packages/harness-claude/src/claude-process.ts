// One agent process: spawned in a process group of its own, fed lines on stdin, read as bytes from
// stdout, ended by closing stdin, then term, then kill; over only when nothing it started is left.
// What its output means is not known here.

import { type ChildProcess, spawn } from 'node:child_process';
import { type AgentRecord, removeAgentRecord, writeAgentRecord } from './agent-record.js';
import { endProcesses } from './end-processes.js';
import { startTimeOf } from './process-table.js';

const STDERR_TAIL_BYTES = 4096;
const DRAIN_MS = 2000;

export interface SpawnPlan {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stateDir: string;
  readonly marker: string;
}

export interface AgentExit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderrTail: string;
  /** The program could not be started at all. */
  readonly startError?: string;
  /** Something the agent started could not be ended. */
  readonly leftovers: boolean;
}

export interface AgentListener {
  onOutput(chunk: Uint8Array): void;
  onExit(exit: AgentExit): void;
}

export interface ClaudeProcess {
  readonly pid: number | undefined;
  write(line: string): void;
  /** Asks it to leave, then makes it: stdin closed, term after `closeMs`, kill after `termMs` more. */
  end(closeMs: number, termMs: number): void;
  kill(): void;
}

export function startClaude(plan: SpawnPlan, listener: AgentListener): ClaudeProcess {
  const [file = '', ...args] = plan.argv;
  const child = spawn(file, args, {
    cwd: plan.cwd,
    env: plan.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const record: AgentRecord | undefined =
    child.pid === undefined
      ? undefined
      : { pid: child.pid, start_time: startTimeOf(child.pid) ?? '', marker: plan.marker };
  if (record) writeAgentRecord(plan.stateDir, record);

  let stderr = Buffer.alloc(0);
  let over = false;
  let timer: NodeJS.Timeout | undefined;

  const finish = async (code: number | null, signal: string | null, startError?: string): Promise<void> => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    const clean = record ? await endProcesses(record, 1000, 2000) : true;
    await drained(child);
    if (record && clean) removeAgentRecord(plan.stateDir);
    const stderrTail = stderr.toString('utf8').trim();
    listener.onExit({
      code,
      signal,
      stderrTail,
      leftovers: !clean,
      ...(startError === undefined ? {} : { startError }),
    });
  };

  child.stdout.on('data', (chunk: Uint8Array) => listener.onOutput(chunk));
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = Buffer.concat([stderr, chunk]).subarray(-STDERR_TAIL_BYTES);
  });
  // A write after the process died: its exit tells the story.
  child.stdin.on('error', () => undefined);
  child.on('error', (error) => void finish(null, null, error.message));
  child.on('exit', (code, signal) => void finish(code, signal));

  const signal = (name: 'SIGTERM' | 'SIGKILL') => {
    if (over || child.pid === undefined) return;
    try {
      process.kill(-child.pid, name);
    } catch {
      child.kill(name);
    }
  };

  return {
    pid: child.pid,
    write(line) {
      if (!over && !child.stdin.writableEnded) child.stdin.write(line);
    },
    end(closeMs, termMs) {
      if (over) return;
      child.stdin.end();
      timer = setTimeout(() => {
        signal('SIGTERM');
        timer = setTimeout(() => signal('SIGKILL'), termMs);
      }, closeMs);
    },
    kill: () => signal('SIGKILL'),
  };
}

/** Output the pipe still holds when the process is gone; a grandchild may keep the pipe open. */
function drained(child: ChildProcess): Promise<void> {
  if (!child.stdout || child.stdout.readableEnded || child.stdout.destroyed) return Promise.resolve();
  const { stdout } = child;
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, DRAIN_MS);
    stdout.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
