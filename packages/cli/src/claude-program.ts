// Which claude runs the sessions: the one named by ENGRAM_CLAUDE_BIN, else the one on PATH, else the
// newest pinned version, fetched when it is not here yet. A named one that does not run is an error; one on
// PATH that does not run is passed over, with a word about it.

import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { access, constants, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliError } from './cli-error.js';

/** A refusal of a start must come within 5 s, all told. */
const START_PATIENCE_MS = 3_000;
/** On a machine that has other things to do a start of the program alone may take this long. */
const PATIENCE_MS = 30_000;
const BEGUN_TICKS = 5;

export interface ClaudeProgram {
  readonly bin: string;
  readonly version: string;
  readonly source: 'ENGRAM_CLAUDE_BIN' | 'PATH' | 'pinned';
}

export interface ClaudeWishes {
  readonly claudeBin?: string | undefined;
  readonly path: string;
  readonly ownEnvironment: Readonly<Record<string, string>>;
}

/** Runs `--version`; gives the version, or why there is none. `slow`: still at work when patience ended. */
export async function readClaudeVersion(
  bin: string,
  path: string,
  patienceMs = PATIENCE_MS,
): Promise<{ version: string } | { problem: string; slow?: true }> {
  // A folder that may not be entered hides what is in it: the same as not there.
  const is = (mode: number): Promise<boolean> =>
    access(bin, mode).then(
      () => true,
      () => false,
    );
  if (!(await is(constants.F_OK))) return { problem: 'there is no such file' };
  if (!(await is(constants.X_OK))) return { problem: 'it may not be executed' };
  const env = { PATH: path, HOME: tmpdir(), TERM: 'dumb', DISABLE_AUTOUPDATER: '1' };
  return new Promise((resolve) => {
    const child = execFile(bin, ['--version'], { env }, (error, stdout) => {
      clearTimeout(timer);
      if (error) {
        const code = String(error.code ?? error.signal ?? 'unknown');
        resolve({ problem: /^\d+$/.test(code) ? `it ended with exit code ${code}` : `it cannot be run (${code})` });
        return;
      }
      const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0];
      resolve(version === undefined ? { problem: 'it does not print a version' } : { version });
    });
    const timer = setTimeout(() => {
      const slow = child.pid !== undefined && isAtWork(child.pid);
      child.kill('SIGKILL');
      const problem = `it gave no answer within ${Math.round(patienceMs / 1000)} s`;
      resolve(slow ? { problem, slow } : { problem });
    }, patienceMs);
  });
}

/**
 * A process that has not got far for want of a processor or a disk, as opposed to one that sleeps. Where the
 * system does not tell, it is taken to be at work.
 */
function isAtWork(pid: number): boolean {
  let threads: string[];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    return process.platform !== 'linux';
  }
  return threads.some((thread) => {
    try {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
      const [state = '', ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      // Clock ticks (10 ms) in user and system mode: a program that has begun has used some.
      return state === 'R' || state === 'D' || Number(rest[10]) + Number(rest[11]) >= BEGUN_TICKS;
    } catch {
      return false;
    }
  });
}

/** ENGRAM_CLAUDE_BIN, checked; undefined when it is not set. */
export async function namedClaude({ claudeBin, path }: ClaudeWishes): Promise<ClaudeProgram | undefined> {
  if (claudeBin === undefined) return undefined;
  const found = await readClaudeVersion(claudeBin, path);
  if ('version' in found)
    return { bin: await realpath(claudeBin), version: found.version, source: 'ENGRAM_CLAUDE_BIN' };
  throw unusable(claudeBin, found.problem);
}

/** Before a start: refuses an ENGRAM_CLAUDE_BIN that does not run, soon. One that is slow is asked again later. */
export async function refuseBrokenClaude(
  { claudeBin, path }: ClaudeWishes,
  say: (line: string) => void,
  patienceMs = START_PATIENCE_MS,
): Promise<void> {
  if (claudeBin === undefined) return;
  const found = await readClaudeVersion(claudeBin, path, patienceMs);
  if ('version' in found) return;
  if (found.slow !== true) throw unusable(claudeBin, found.problem);
  say(`ENGRAM_CLAUDE_BIN is ${claudeBin}, and ${found.problem}: the machine is busy. It is asked again.`);
}

function unusable(claudeBin: string, problem: string): CliError {
  return new CliError(
    'claude_unusable',
    `ENGRAM_CLAUDE_BIN is ${claudeBin}, but ${problem}.`,
    'point ENGRAM_CLAUDE_BIN at a working Claude Code, or unset it to use the one on PATH or the pinned one',
  );
}

/** A working claude on PATH. */
export async function claudeOnPath(path: string, say: (line: string) => void): Promise<ClaudeProgram | undefined> {
  for (const folder of path.split(delimiter).filter((each) => each.startsWith('/'))) {
    const bin = join(folder, 'claude');
    const found = await readClaudeVersion(bin, path);
    if ('version' in found) return { bin, version: found.version, source: 'PATH' };
    if (found.problem !== 'there is no such file') say(`passing over ${bin}: ${found.problem}`);
  }
  return undefined;
}

/** The newest pinned version; fetches it when it is missing, which may take minutes. */
export function pinnedClaude(
  env: Readonly<Record<string, string>>,
  say: (line: string) => void,
): Promise<ClaudeProgram> {
  const script = fileURLToPath(new URL('../../../scripts/fetch-agents.mjs', import.meta.url));
  return new Promise((resolve, reject) => {
    // A group of its own, so that npm below it ends too when this process does before the fetch is over.
    const child = spawn(process.execPath, [script, 'newest'], {
      env: { ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const endFetch = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
      } catch {
        // It is over.
      }
    };
    process.once('exit', endFetch);
    let out = '';
    let words = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      words += chunk;
      if (/^engram: fetching .*…$/m.test(chunk)) say(chunk.replace(/^engram: /, '').trim());
    });
    child.on('error', reject);
    child.on('close', (code) => {
      process.off('exit', endFetch);
      const bin = out.trim();
      const version = /claude-(\d+\.\d+\.\d+)\//.exec(bin)?.[1];
      if (code === 0 && version !== undefined) {
        resolve({ bin, version, source: 'pinned' });
        return;
      }
      const why = words.replace(/^engram: (fetching .*…\n)?/gm, '').trim();
      reject(
        new CliError(
          'claude_unusable',
          `Claude Code could not be fetched. ${why}`,
          'install Claude Code yourself and put it on PATH or name it in ENGRAM_CLAUDE_BIN',
        ),
      );
    });
  });
}

export async function chooseClaude(wishes: ClaudeWishes, say: (line: string) => void): Promise<ClaudeProgram> {
  return (
    (await namedClaude(wishes)) ??
    (await claudeOnPath(wishes.path, say)) ??
    (await pinnedClaude(wishes.ownEnvironment, say))
  );
}
