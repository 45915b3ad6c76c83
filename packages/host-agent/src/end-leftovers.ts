// For whoever started a host that died without cleaning up: ends the harnesses and agents it left
// running. Must not be called while a host lives on this data folder.

import { realpath } from 'node:fs/promises';
import type { Logger } from 'pino';
import { endOrphans } from './orphans.js';
import { createProcessSandbox } from './process-sandbox.js';

/** Gives how many processes were ended. */
export async function endLeftovers(dataDir: string, log: Logger): Promise<number> {
  const folder = await realpath(dataDir);
  const workspace = { roots: [], cloneTimeoutMs: 0, gitEnvironment: {} };
  const sandbox = createProcessSandbox({ dataDir: folder, agentEnvironment: {}, workspace, log });
  return endOrphans({ dataDir: folder, sandbox, log });
}
