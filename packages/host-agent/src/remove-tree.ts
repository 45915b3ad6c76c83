// Removes a folder whatever its owner did to its rights: agents leave folders that cannot be written
// (a module cache, say), and a plain removal would stop there.

import { chmod, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from './socket-path.js';

export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    if (!isErrno(error, 'EACCES') && !isErrno(error, 'EPERM')) throw error;
    await openFolders(path);
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function openFolders(path: string): Promise<void> {
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await openFolders(join(path, entry.name));
  }
}
