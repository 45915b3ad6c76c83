// What a host writes down about the processes it starts, so that its next life can find and end
// them: one small file per harness in <data folder>/harnesses, and the agent that a harness names
// in its own state folder. Ids from files are never trusted without the start time.

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { endProcess, type ProcessIdentity } from './process-identity.js';
import { sessionFolder } from './session-folder.js';

export interface HarnessRecord extends ProcessIdentity {
  /** Set once the harness has a session. */
  readonly sessionId?: string;
}

function recordsDir(dataDir: string): string {
  return join(dataDir, 'harnesses');
}

function recordPath(dataDir: string, pid: number): string {
  return join(recordsDir(dataDir), `${pid}.json`);
}

/** At once: a session waits for it, and trips through the thread pool cost many times the write. */
export function writeHarnessRecord(dataDir: string, record: HarnessRecord): void {
  mkdirSync(recordsDir(dataDir), { recursive: true, mode: 0o700 });
  const path = recordPath(dataDir, record.pid);
  writeFileSync(`${path}.part`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  renameSync(`${path}.part`, path);
}

export async function removeHarnessRecord(dataDir: string, pid: number): Promise<void> {
  await rm(recordPath(dataDir, pid), { force: true });
}

export async function readHarnessRecords(dataDir: string): Promise<readonly HarnessRecord[]> {
  const names = await readdir(recordsDir(dataDir)).catch((): string[] => []);
  const records = await Promise.all(names.map((name) => readJson(join(recordsDir(dataDir), name))));
  return records.flatMap((value) => parseHarnessRecord(value) ?? []);
}

function parseHarnessRecord(value: unknown): HarnessRecord | undefined {
  const identity = parseIdentity(value, 'started');
  if (identity === undefined || typeof value !== 'object' || value === null) return undefined;
  const sessionId = 'sessionId' in value && typeof value.sessionId === 'string' ? value.sessionId : undefined;
  return sessionId === undefined ? identity : { ...identity, sessionId };
}

/** Ends the agent that the session's harness wrote down as `agent.json`, with its process group. */
export async function endRecordedAgent(dataDir: string, sessionId: string, graceMs: number): Promise<boolean> {
  const record = await readJson(join(sessionFolder(dataDir, sessionId).state, 'agent.json'));
  const agent = parseIdentity(record, 'start_time');
  return agent === undefined ? false : endProcess(agent, graceMs);
}

/** Undefined without a start time: a pid alone could be anybody's by now. */
function parseIdentity(value: unknown, startField: 'started' | 'start_time'): ProcessIdentity | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = new Map<string, unknown>(Object.entries(value));
  const pid = fields.get('pid');
  const started = fields.get(startField);
  return typeof pid === 'number' && typeof started === 'string' && started !== '' ? { pid, started } : undefined;
}

/** Undefined for a file that is missing or torn: there is nothing to find with it. */
async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
