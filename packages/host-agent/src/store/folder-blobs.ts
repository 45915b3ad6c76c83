// Objects as files of one folder, for a disk that all hosts mount, or a second disk of one machine.
// An object is written beside its place, synced and renamed, so a reader sees all of it or nothing.

import { randomBytes } from 'node:crypto';
import { access, constants, link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isErrno } from '../socket-path.js';
import { type BlobStore, checkKey } from './blob-store.js';
import { StoreError } from './store-error.js';

const PART = '.part-';

export function createFolderBlobs(folder: string): BlobStore {
  const name = `folder ${folder}`;
  const pathOf = (key: string): string => join(folder, checkKey(key));

  async function attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toStoreError(error, name);
    }
  }

  async function writePart(key: string, bytes: Uint8Array): Promise<{ part: string; path: string }> {
    const path = pathOf(key);
    const part = join(dirname(path), `${PART}${process.pid}-${randomBytes(6).toString('hex')}`);
    // The store's own folder is never made here: one that is not mounted must not be mistaken for it.
    await access(folder);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    try {
      const file = await open(part, 'wx', 0o600);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
    return { part, path };
  }

  return {
    name,
    put: (key, bytes) =>
      attempt(async () => {
        const { part, path } = await writePart(key, bytes);
        await rename(part, path);
        await syncFolder(dirname(path));
      }),
    putNew: (key, bytes) =>
      attempt(async () => {
        const { part, path } = await writePart(key, bytes);
        try {
          await link(part, path);
        } catch (error) {
          if (isErrno(error, 'EEXIST')) return false;
          throw error;
        } finally {
          await rm(part, { force: true });
        }
        await syncFolder(dirname(path));
        return true;
      }),
    get: (key) =>
      attempt(async () => {
        try {
          return await readFile(pathOf(key));
        } catch (error) {
          if (isErrno(error, 'ENOENT') && (await isThere(folder))) return undefined;
          throw error;
        }
      }),
    list: (prefix) =>
      attempt(async () => {
        const root = pathOf(prefix.replace(/\/$/, ''));
        const entries = await readdir(root, { withFileTypes: true, recursive: true }).catch((error: unknown) => {
          if (isErrno(error, 'ENOENT')) return [];
          throw error;
        });
        return entries
          .filter((entry) => entry.isFile() && !entry.name.startsWith(PART))
          .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
      }),
    remove: (keys) =>
      attempt(async () => {
        for (const key of keys) await rm(pathOf(key), { force: true });
        await removeEmpty(
          folder,
          keys.map((key) => dirname(pathOf(key))),
        );
      }),
  };
}

/** Folders that held nothing else, and what writers that died left in them. */
async function removeEmpty(root: string, folders: readonly string[]): Promise<void> {
  for (const start of new Set(folders)) {
    for (let folder = start; folder.length > root.length; folder = dirname(folder)) {
      const names = await readdir(folder).catch(() => undefined);
      if (names === undefined) continue;
      if (names.some((name) => !name.startsWith(PART))) break;
      await rm(folder, { recursive: true, force: true });
    }
  }
}

async function isThere(folder: string): Promise<boolean> {
  return readdir(folder).then(
    () => true,
    () => false,
  );
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function toStoreError(error: unknown, name: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const cause = { cause: error };
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new StoreError('store_full', `The store (${name}) is full. Free some space in it.`, cause);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new StoreError(
        'store_refused',
        `The store (${name}) cannot be written (${code}). Give the user that runs Engram the right to write there.`,
        cause,
      );
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EIO':
    case 'ESTALE':
    case 'ENOTCONN':
    case 'ETIMEDOUT':
      return new StoreError(
        'store_unreachable',
        `The store (${name}) is not there (${code}). Make the folder, or mount it, on every host.`,
        cause,
      );
    default:
      return error;
  }
}
