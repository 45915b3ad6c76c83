// Short temporary folders for tests, removed when the test file ends.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export async function makeTempFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'egt-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
