// Facts about processes that are not our children: alive, since when, working in which folder.
// A pid alone proves nothing (it is given again), so callers compare folder and start time too.

import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { errorCode } from '../coordinator-error.js';

const run = promisify(execFile);

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Seconds since 1970 at which the process began; undefined when it is gone or a zombie. */
export async function processStartedAt(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return startedAtFromPs(pid);
  try {
    const [stat, system] = await Promise.all([readFile(`/proc/${pid}/stat`, 'utf8'), readFile('/proc/stat', 'utf8')]);
    // The command may hold spaces and brackets: count the fields behind its last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    const boot = /^btime (\d+)$/m.exec(system)?.[1];
    const ticks = Number(fields[19]);
    return boot === undefined || Number.isNaN(ticks) ? undefined : Number(boot) + ticks / 100;
  } catch {
    return undefined;
  }
}

/** Living processes named `postgres` whose working folder is `folder` (a real path). */
export async function postgresProcessesIn(folder: string, knownPid?: number): Promise<readonly number[]> {
  if (process.platform !== 'linux') {
    return knownPid !== undefined && (await worksInFromPs(knownPid, folder)) ? [knownPid] : [];
  }
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      if ((await readFile(`/proc/${entry}/comm`, 'utf8')).trim() !== 'postgres') continue;
      if ((await readlink(`/proc/${entry}/cwd`)) === folder) found.push(Number(entry));
    } catch {
      // Gone, or somebody else's: neither can be a PostgreSQL of ours.
    }
  }
  return found;
}

async function startedAtFromPs(pid: number): Promise<number | undefined> {
  try {
    const { stdout } = await run('ps', ['-o', 'lstart=', '-p', String(pid)]);
    const at = Date.parse(stdout.trim());
    return Number.isNaN(at) ? undefined : at / 1000;
  } catch {
    return undefined;
  }
}

async function worksInFromPs(pid: number, folder: string): Promise<boolean> {
  try {
    const { stdout } = await run('ps', ['-o', 'command=', '-p', String(pid)]);
    return stdout.includes('postgres') && stdout.includes(folder);
  } catch {
    return false;
  }
}
