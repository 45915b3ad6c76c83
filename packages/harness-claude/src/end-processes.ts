// Ends an agent and everything it started: term, wait, kill; then sees that nothing is left.

import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentRecord, readAgentRecord, removeAgentRecord } from './agent-record.js';
import { groupExists, pidsWithVariable, signalGroup, signalPid, startTimeOf } from './process-table.js';

/** The hook's secret in the agent's environment: it also marks the agent and whatever inherits from it. */
export const MARKER_VARIABLE = 'ENGRAM_HOOK_TOKEN';

const STEP_MS = 20;

/** True when nothing of the agent is left. The leader may already be gone. */
export async function endProcesses(record: AgentRecord, termMs: number, killMs: number): Promise<boolean> {
  const left = (): number[] => (record.marker === '' ? [] : pidsWithVariable(MARKER_VARIABLE, record.marker));
  // The group id is the leader's pid; it stays taken while a member lives, so it is ours as long as
  // the leader is, or a marked process is in it.
  const sameLeader = record.start_time !== '' && startTimeOf(record.pid) === record.start_time;
  let pids = left();
  const ours = sameLeader || pids.length > 0;
  if (!ours) return true;
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (groupExists(record.pid)) signalGroup(record.pid, signal);
    for (const pid of pids) signalPid(pid, signal);
    const until = Date.now() + (signal === 'SIGTERM' ? termMs : killMs);
    while (Date.now() < until) {
      pids = left();
      if (pids.length === 0 && (!groupExists(record.pid) || startTimeOf(record.pid) !== record.start_time)) return true;
      await sleep(STEP_MS);
    }
  }
  return left().length === 0;
}

/** An agent that outlived its harness. True when there was none or it is gone now. */
export async function endOrphan(stateDir: string): Promise<'none' | 'ended' | 'stays'> {
  const record = readAgentRecord(stateDir);
  if (!record) return 'none';
  if (!(await endProcesses(record, 3000, 3000))) return 'stays';
  removeAgentRecord(stateDir);
  return 'ended';
}
