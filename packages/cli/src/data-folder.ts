// The data folder as the command line sees it: made 0700, checked to be ours and writable before
// anything is started, with the owner's API token in it. What lies below belongs to the other packages.

import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { CliError } from './cli-error.js';

/** Any of these says that a folder has been Engram's before. */
const OWN_ENTRIES = ['token', 'pg', 'host.json', 'sessions', 'logs', 'pg-password', 'server.json'];

/** Makes and checks the folder; gives its real path. */
export async function openDataFolder(path: string): Promise<string> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const found = await stat(path);
    if (!found.isDirectory()) throw refused(path, 'is not a folder');
    if (found.uid !== userInfo().uid) throw refused(path, `belongs to another user (uid ${found.uid})`);
    if ((found.mode & 0o700) !== 0o700) throw refused(path, 'has no write permission');
    const entries = await readdir(path);
    const ours = entries.length === 0 || entries.some((entry) => OWN_ENTRIES.includes(entry));
    if (!ours) throw refused(path, 'holds files that are not Engram’s');
    if ((found.mode & 0o077) !== 0) await chmod(path, 0o700);
    const probe = join(path, `.write-${process.pid}`);
    await writeFile(probe, '', { mode: 0o600 });
    await rm(probe);
    return await realpath(path);
  } catch (error) {
    if (error instanceof CliError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (code === 'ENOSPC')
      throw new CliError('data_folder', `The disk of ${path} is full.`, 'free some space and start again');
    throw refused(path, `cannot be written (${code})`, error);
  }
}

function refused(path: string, why: string, cause?: unknown): CliError {
  return new CliError(
    'data_folder',
    `The data folder ${path} ${why}.`,
    'choose another one with --data-dir, or mend its owner and permissions',
    { cause },
  );
}

/** The API token of the local owner; made on first use unless one is `given`, never readable for others. */
export async function readOrMakeToken(dataDir: string, given?: string): Promise<string> {
  const path = join(dataDir, 'token');
  const found = await readToken(dataDir);
  if (given !== undefined && given !== found) {
    await writePrivateFile(path, `${given}\n`);
    return given;
  }
  if (found !== undefined) {
    if (((await lstat(path)).mode & 0o077) !== 0) await chmod(path, 0o600);
    return found;
  }
  const token = `engram_${randomBytes(32).toString('base64url')}`;
  await writePrivateFile(path, `${token}\n`);
  return token;
}

export async function readToken(dataDir: string): Promise<string | undefined> {
  const text = await readFile(join(dataDir, 'token'), 'utf8').catch(() => '');
  const token = text.trim();
  return token === '' ? undefined : token;
}

export async function writePrivateFile(path: string, content: string): Promise<void> {
  const fresh = `${path}.${process.pid}.new`;
  await writeFile(fresh, content, { mode: 0o600 });
  await rename(fresh, path);
}
