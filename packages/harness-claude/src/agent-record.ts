// agent.json: which process works on this session, so that whoever comes after a crash can end it
// before it starts another. Written after the spawn, removed after the exit of the whole group.

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asNumber, asRecord, asString, parseJson } from './json-guards.js';

export interface AgentRecord {
  readonly pid: number;
  /** Ticks since boot; '' where the system does not tell. */
  readonly start_time: string;
  /** Value of the marker variable in the agent's environment. */
  readonly marker: string;
}

const pathOf = (stateDir: string): string => join(stateDir, 'agent.json');

export function writeAgentRecord(stateDir: string, record: AgentRecord): void {
  const fresh = `${pathOf(stateDir)}.new`;
  writeFileSync(fresh, JSON.stringify(record), { mode: 0o600 });
  renameSync(fresh, pathOf(stateDir));
}

export function readAgentRecord(stateDir: string): AgentRecord | undefined {
  let text: string;
  try {
    text = readFileSync(pathOf(stateDir), 'utf8');
  } catch {
    return undefined;
  }
  const record = asRecord(parseJson(text));
  const pid = asNumber(record?.pid);
  if (pid === undefined) return undefined;
  return { pid, start_time: asString(record?.start_time) ?? '', marker: asString(record?.marker) ?? '' };
}

export function removeAgentRecord(stateDir: string): void {
  rmSync(pathOf(stateDir), { force: true });
}
