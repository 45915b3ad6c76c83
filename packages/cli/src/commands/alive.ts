// `engram alive`: does an `engram up` or `engram host` own this data folder, and does it answer? For the
// probes of a service manager; what a server can do is asked at /healthz and /readyz.

import { realpath } from 'node:fs/promises';
import { CliError } from '../cli-error.js';
import type { Config } from '../config.js';
import type { Output } from '../output.js';
import { findOwner } from '../owner-lock.js';

export async function alive(config: Config, output: Output): Promise<number> {
  const dataDir = await realpath(config.dataDir).catch(() => undefined);
  const owner = dataDir === undefined ? undefined : await findOwner(dataDir);
  if (owner === undefined) {
    throw new CliError(
      'not_running',
      `Nothing answers for ${config.dataDir}.`,
      'start `engram up` or `engram host` on it',
    );
  }
  output.result({ type: 'alive', ...owner }, [`process ${owner.pid} answers`]);
  return 0;
}
