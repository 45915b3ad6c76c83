// Where things are in this checkout, and the few facts about the machine that several scripts need.
// Nothing here changes anything.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
export const cacheDir = join(root, '.cache');

/** A failure that is told to a person as it stands: what is wrong, and the next step. */
export class ScriptError extends Error {
  constructor(message, nextStep) {
    super(nextStep === undefined ? message : `${message}\n  Next step: ${nextStep}`);
    this.name = 'ScriptError';
  }
}

/** SHA-256 over names and contents of every file below the given paths (files or folders), in a fixed order. */
export function hashFiles(paths, base = root) {
  const hash = createHash('sha256');
  for (const path of paths) addToHash(hash, base, path);
  return hash.digest('hex');
}

function addToHash(hash, base, path) {
  let entries;
  try {
    entries = readdirSync(join(base, path), { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOENT') return;
    if (error.code !== 'ENOTDIR') throw error;
    hash.update(`${path}\0`);
    hash.update(readFileSync(join(base, path)));
    hash.update('\0');
    return;
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (['node_modules', 'dist', '.cache'].includes(entry.name)) continue;
    addToHash(hash, base, `${path}/${entry.name}`);
  }
}
