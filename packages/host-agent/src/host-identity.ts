// Who this host is across restarts: an id kept in the data folder, so that the sessions whose
// files are here find their host again.

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HostAgentError } from './host-agent-error.js';
import { writeFileAtomically } from './session-folder.js';
import { isErrno } from './socket-path.js';

export async function openHostId(dataDir: string): Promise<string> {
  const path = join(dataDir, 'host.json');
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw new HostAgentError('data_dir_unusable', `cannot read ${path}`, { cause: error });
  });
  if (text !== undefined) return parseHostId(text, path);
  const hostId = randomUUID();
  await writeFileAtomically(path, `${JSON.stringify({ host_id: hostId })}\n`);
  return hostId;
}

function parseHostId(text: string, path: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && 'host_id' in value && typeof value.host_id === 'string') {
    return value.host_id;
  }
  throw new HostAgentError(
    'data_dir_unusable',
    `${path} holds no host id; restore it, or remove it to become a new host`,
  );
}
