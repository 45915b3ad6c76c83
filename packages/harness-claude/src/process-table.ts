// Which processes belong to an agent: its process group, and whatever carries the marker variable
// in its environment (a tool may start children in sessions of their own). Reads /proc; where there
// is none only the group is known. Signals only processes it has just looked at.

import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks since boot at which the process started: tells a pid from its next owner. */
export function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat[stat.lastIndexOf(')') + 2] === 'Z';
  } catch {
    return true;
  }
}

/** Living processes whose environment holds `NAME=value`. */
export function pidsWithVariable(name: string, value: string): number[] {
  const wanted = `${name}=${value}`;
  let entries: string[];
  try {
    entries = readdirSync('/proc');
  } catch {
    return [];
  }
  return entries
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => pid !== process.pid && hasVariable(pid, wanted) && !isZombie(pid));
}

function hasVariable(pid: number, wanted: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(wanted);
  } catch {
    // Gone, or another user's: not ours in either case.
    return false;
  }
}

export function groupExists(pgid: number): boolean {
  try {
    process.kill(-pgid, 0);
    return true;
  } catch {
    return false;
  }
}

export function signalGroup(pgid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pgid, signal);
  } catch {
    // Gone meanwhile: what we wanted.
  }
}

export function signalPid(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone meanwhile: what we wanted.
  }
}
