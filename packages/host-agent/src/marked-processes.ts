// Finds processes by the mark that a sandbox leaves in the environment of everything started in it.
// The agent starts its commands in process groups of their own, so the group of a killed agent
// does not hold them; the inherited mark does. Linux only: elsewhere nothing is found.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { endProcess, type ProcessIdentity, readProcessStart } from './process-identity.js';

export const SANDBOX_MARK = 'ENGRAM_SANDBOX';
const PROCESSES_A_STEP = 64;

/** Processes of this user whose environment holds the mark with exactly this value, or starting with it. */
export async function findMarkedProcesses(
  value: string,
  match: 'exact' | 'prefix',
): Promise<readonly ProcessIdentity[]> {
  if (process.platform !== 'linux') return [];
  const uid = userInfo().uid;
  const wanted = `${SANDBOX_MARK}=${value}`;
  const found: ProcessIdentity[] = [];
  let looked = 0;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isSafeInteger(pid) || pid === process.pid) continue;
    looked += 1;
    if (looked % PROCESSES_A_STEP === 0) await setImmediate();
    if (!readMarks(name, uid).some((entry) => (match === 'exact' ? entry === wanted : entry.startsWith(wanted)))) {
      continue;
    }
    const started = await readProcessStart(pid);
    if (started !== undefined) found.push({ pid, started });
  }
  return found;
}

/** Read at once: /proc is memory, and a trip through the thread pool costs many times the read. */
function readMarks(name: string, uid: number): readonly string[] {
  try {
    if (statSync(`/proc/${name}`).uid !== uid) return [];
    return readFileSync(`/proc/${name}/environ`, 'latin1')
      .split('\0')
      .filter((entry) => entry.startsWith(SANDBOX_MARK));
  } catch {
    // Gone meanwhile, or not ours to read.
    return [];
  }
}

/** Ends them all; gives how many there were. Looks again, since a dying process may start another. */
export async function endMarkedProcesses(value: string, match: 'exact' | 'prefix', graceMs: number): Promise<number> {
  let ended = 0;
  for (let round = 0; round < 3; round += 1) {
    const found = await findMarkedProcesses(value, match);
    if (found.length === 0) break;
    ended += found.length;
    await Promise.all(found.map((each) => endProcess(each, round === 0 ? graceMs : 0)));
  }
  return ended;
}
