// After `engram db move` the data folder's own PostgreSQL is out of date. A file says so, and nothing starts
// on it by mistake.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from './cli-error.js';
import { writePrivateFile } from './data-folder.js';

const NAME = 'database-moved.json';

/** `to` names host, port and database, never a password. */
export async function markMoved(dataDir: string, to: string): Promise<void> {
  await writePrivateFile(join(dataDir, NAME), `${JSON.stringify({ to, at: new Date().toISOString() })}\n`);
}

export async function refuseMovedDatabase(dataDir: string): Promise<void> {
  const path = join(dataDir, NAME);
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const { to, at } = parse(text);
  throw new CliError(
    'database_moved',
    `The database of ${dataDir} was moved to ${to}${at === undefined ? '' : ` on ${at}`}; what is here is old.`,
    `set DATABASE_URL to it, or remove ${path} to go back to the old state`,
  );
}

function parse(text: string): { readonly to: string; readonly at?: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'to' in value && 'at' in value) {
      return { to: String(value.to), at: String(value.at) };
    }
  } catch {
    // What counts is that the file is there.
  }
  return { to: 'a server' };
}
