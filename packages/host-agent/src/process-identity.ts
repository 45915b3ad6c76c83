// Knows a process again: a pid alone is reused by the kernel, a pid with its start time is not.
// Ends a process group only while its leader is the process that was meant.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export interface ProcessIdentity {
  readonly pid: number;
  /** Linux: field 22 of /proc/<pid>/stat, clock ticks since boot. Elsewhere: `ps -o lstart=`. */
  readonly started: string;
}

const run = promisify(execFile);

/** Undefined when there is no such process, or only a zombie of it. */
export async function readProcessStart(pid: number): Promise<string | undefined> {
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  return process.platform === 'linux' ? readStartFromProc(pid) : readStartFromPs(pid);
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await readProcessStart(identity.pid)) === identity.started;
}

/**
 * TERM to the group of `leader` (or to the process alone when it leads none), KILL after `graceMs`.
 * Does nothing when the pid belongs to another process by now. True when something was ended.
 */
export async function endProcess(leader: ProcessIdentity, graceMs: number): Promise<boolean> {
  if (!(await isAlive(leader))) return false;
  if (graceMs > 0) {
    signal(leader.pid, 'SIGTERM');
    if (await waitUntilGone(leader, graceMs)) {
      signalGroup(leader.pid, 'SIGKILL');
      return true;
    }
  }
  signal(leader.pid, 'SIGKILL');
  await waitUntilGone(leader, 2_000);
  return true;
}

export async function waitUntilGone(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const end = Date.now() + timeoutMs;
  let pause = 5;
  while (await isAlive(identity)) {
    if (Date.now() >= end) return false;
    await sleep(pause);
    pause = Math.min(pause * 2, 50);
  }
  return true;
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  if (!signalGroup(pid, name)) sendSignal(pid, name);
}

function signalGroup(pid: number, name: 'SIGTERM' | 'SIGKILL'): boolean {
  return sendSignal(-pid, name);
}

/** False when there is nobody to signal (any more), which is what was wanted. */
function sendSignal(target: number, name: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    process.kill(target, name);
    return true;
  } catch {
    return false;
  }
}

async function readStartFromProc(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  if (stat === undefined) return undefined;
  // The name in field 2 may hold spaces and brackets; the fields after its last bracket do not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

async function readStartFromPs(pid: number): Promise<string | undefined> {
  const result = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]).catch(() => undefined);
  const line = result?.stdout.trim() ?? '';
  if (line === '' || line.startsWith('Z')) return undefined;
  return line.slice(line.indexOf(' ')).trim();
}
