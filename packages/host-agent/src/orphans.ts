// Ends what an earlier life of this host left running: harnesses by their saved pid and start time,
// then their agents, then whatever still carries the mark of one of this data folder's sandboxes.
// Processes of other hosts and other data folders are never touched.

import type { Logger } from 'pino';
import { endProcess } from './process-identity.js';
import { endRecordedAgent, readHarnessRecords, removeHarnessRecord } from './process-records.js';
import type { Sandbox } from './sandbox.js';

export interface OrphanOptions {
  readonly dataDir: string;
  readonly sandbox: Sandbox;
  readonly log: Logger;
}

/** A harness that is told to go ends its agent first, so that the transcript is whole. */
const HARNESS_GRACE_MS = 3_000;
const AGENT_GRACE_MS = 1_000;

export async function endOrphans({ dataDir, sandbox, log }: OrphanOptions): Promise<number> {
  const records = await readHarnessRecords(dataDir);
  const ended = await Promise.all(
    records.map(async (record) => {
      const harness = await endProcess(record, HARNESS_GRACE_MS);
      const agent =
        record.sessionId !== undefined &&
        (await endRecordedAgent(dataDir, record.sessionId, AGENT_GRACE_MS).catch(() => false));
      await removeHarnessRecord(dataDir, record.pid);
      return Number(harness) + Number(agent);
    }),
  );
  const others = await sandbox.endOrphans();
  const count = ended.reduce((sum, each) => sum + each, others);
  if (count > 0) log.warn({ ended: count }, 'ended processes that an earlier host left running');
  return count;
}
