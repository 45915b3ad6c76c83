// One child of `engram up`: started in a process group of its own (Ctrl-C reaches `up` alone, which
// ends its children in order), fed its order on stdin, heard on stdout, its log in a file.

import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ChildOrder, type ChildReport, parseReport } from './child-line.js';
import { CliError } from './cli-error.js';

export interface ChildExit {
  readonly name: string;
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** Its last words, or the end of its log. */
  readonly words: string;
}

export interface SupervisedChild {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<ChildExit>;
  readonly ready: Promise<Extract<ChildReport, { type: 'ready' }>>;
  /** Asks it to stop by ending its stdin; after the grace its whole group is killed. */
  stop(graceMs: number): Promise<void>;
}

const LOG_MAX_BYTES = 8 * 1024 * 1024;

export interface ChildOptions {
  readonly main: string;
  readonly order: ChildOrder;
  readonly env: Readonly<Record<string, string>>;
  readonly onNote: (text: string) => void;
}

export function startChild({ main, order, env, onNote }: ChildOptions): SupervisedChild {
  const name = order.kind;
  const logFile = join(order.dataDir, 'logs', `${name}.log`);
  const log = openLog(logFile);
  const child = spawn(process.execPath, [main, name, '--supervised'], {
    cwd: '/',
    env: { ...env },
    detached: true,
    stdio: ['pipe', 'pipe', log],
  });
  closeSync(log);
  const { stdin, stdout, pid } = child;
  if (stdin === null || stdout === null || pid === undefined) {
    throw new CliError('start_failed', `\`engram ${name}\` could not be started.`);
  }
  let words = '';
  let onReady: (report: Extract<ChildReport, { type: 'ready' }>) => void = () => undefined;
  const ready = new Promise<Extract<ChildReport, { type: 'ready' }>>((resolve) => {
    onReady = resolve;
  });
  readLines(stdout, (line) => {
    const message = parseReport(line);
    if (message?.type === 'ready') onReady(message);
    else if (message?.type === 'note') onNote(message.text);
    else if (message?.type === 'failed') words = message.text;
  });
  const exited = new Promise<ChildExit>((resolve) => {
    child.on('error', (error) => resolve({ name, code: undefined, signal: undefined, words: error.message }));
    // `close`, not `exit`: its last words may still be in the pipe.
    child.on('close', (code, signal) =>
      resolve({
        name,
        code: code ?? undefined,
        signal: signal ?? undefined,
        words: words === '' ? tail(logFile) : words,
      }),
    );
  });
  stdin.on('error', () => undefined);
  stdin.write(`${JSON.stringify(order)}\n`);
  return {
    name,
    pid,
    exited,
    ready,
    async stop(graceMs) {
      stdin.end();
      const timer = setTimeout(() => killGroup(pid), graceMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Gone between the timer and the kill.
  }
}

function openLog(path: string): number {
  try {
    if (statSync(path).size > LOG_MAX_BYTES) renameSync(path, `${path}.1`);
  } catch {
    // There is none yet.
  }
  return openSync(path, 'a', 0o600);
}

function tail(path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-3).join('\n');
  } catch {
    return '';
  }
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
}
