// Finds processes by the mark that a sandbox leaves in the environment of everything started in it.
// The agent starts its commands in process groups of their own, so the group of a killed agent
// does not hold them; the inherited mark does. Linux only: elsewhere nothing is found.

import { readdir, readFile, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { endProcess, type ProcessIdentity, readProcessStart } from './process-identity.js';

export const SANDBOX_MARK = 'ENGRAM_SANDBOX';

/** Processes of this user whose environment holds the mark with exactly this value, or starting with it. */
export async function findMarkedProcesses(
  value: string,
  match: 'exact' | 'prefix',
): Promise<readonly ProcessIdentity[]> {
  if (process.platform !== 'linux') return [];
  const uid = userInfo().uid;
  const wanted = `${SANDBOX_MARK}=${value}`;
  const found: ProcessIdentity[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (!Number.isSafeInteger(pid) || pid === process.pid) continue;
    const owner = await stat(`/proc/${name}`).catch(() => undefined);
    if (owner?.uid !== uid) continue;
    const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
    const marked = environment
      .split('\0')
      .some((entry) => (match === 'exact' ? entry === wanted : entry.startsWith(wanted)));
    const started = marked ? await readProcessStart(pid) : undefined;
    if (started !== undefined) found.push({ pid, started });
  }
  return found;
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
