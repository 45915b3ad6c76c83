// The store of session files: saves a session's folder, gives it back on any host, and removes what
// nobody needs. It does not know which list of files is the current one: the database does, under the
// session's lease. So a host that lost its lease may write here, and nothing comes of it.
//
//   engram-store.json                         which store this is
//   sessions/<id>/m.<epoch>.<random>.<hash>   a list of files; written last
//   sessions/<id>/<epoch>.<hash>              a pack of pieces of files
//
// A holder removes only objects of its own and earlier epochs that the list it committed does not name,
// and takes over only what the list it began with names: so no two holders harm one another.

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { removeTree } from '../remove-tree.js';
import type { BlobStore } from './blob-store.js';
import { type FileNotes, readNotes, writeNotes } from './file-notes.js';
import { decodeManifest, encodeManifest, type Manifest } from './manifest.js';
import type { Seal } from './seal.js';
import { StoreError } from './store-error.js';
import { type BytePath, toShown } from './tree-path.js';
import { restoreTree } from './tree-restore.js';
import { saveTree } from './tree-save.js';
import { scanTrees } from './tree-scan.js';

export interface StoredFolder {
  readonly sessionId: string;
  /** The session's folder on this host. */
  readonly root: string;
}

export interface SaveRequest extends StoredFolder {
  readonly epoch: number;
  /** Names in the session's folder that are stored. */
  readonly tops: readonly string[];
  readonly isLeftOut: (path: BytePath) => boolean;
  /** Real path of the workspace, inside the folder or not. */
  readonly workspace: string;
}

export interface SavedFiles {
  /** Name of the list of files; it holds its own checksum. */
  readonly manifest: string;
  readonly files: number;
  readonly readBytes: number;
  readonly putBytes: number;
  /** For people: what cannot be stored, and what changed while it was read. */
  readonly unstorable: readonly string[];
  readonly restless: readonly string[];
}

export interface RestoredFiles {
  readonly files: number;
  readonly fetchedBytes: number;
  /** Where the files were when they were saved. */
  readonly savedAt: { readonly root: string; readonly workspace: string };
}

export interface FileStore {
  /** The same for everybody who uses this store. */
  readonly id: string;
  readonly name: string;
  save(request: SaveRequest, signal: AbortSignal): Promise<SavedFiles>;
  /** Call when `manifest` is the current one by the database. */
  collect(sessionId: string, epoch: number, manifest: string): Promise<number>;
  /** Replaces the session's folder on this host by what the manifest lists. */
  restore(folder: StoredFolder, manifest: string): Promise<RestoredFiles>;
  remove(sessionId: string): Promise<void>;
}

const MARKER = 'engram-store.json';
const NOTES = 'stored-files.gz';
const SHOWN_MAX = 20;

export async function openFileStore(options: {
  readonly blobs: BlobStore;
  readonly seal: Seal;
  readonly log: Logger;
  readonly nowMs?: () => number;
}): Promise<FileStore> {
  const { blobs, seal, log, nowMs = Date.now } = options;
  const id = await openMarker(blobs);
  const prefixOf = (sessionId: string): string => `sessions/${sessionId}/`;

  /** A folder whose mount went away looks like an empty store: nothing may be put there. */
  async function checkIdentity(): Promise<void> {
    const marker = await readMarker(blobs);
    if (marker === id) return;
    throw new StoreError(
      'store_unreachable',
      `The store (${blobs.name}) is not the one that this host started with. Mount it again, or restart the host.`,
    );
  }

  async function readManifest(sessionId: string, name: string): Promise<Manifest> {
    const prefix = prefixOf(sessionId);
    const sealed = await blobs.get(`${prefix}${name}`);
    if (sealed === undefined) {
      await checkIdentity();
      throw new StoreError(
        'store_incomplete',
        `The store (${blobs.name}) has lost the list of this session’s files. Put the store back from a backup.`,
      );
    }
    if (!name.endsWith(`.${hashOf(sealed)}`)) {
      throw new StoreError(
        'store_damaged',
        `The object ${name} of the store is damaged. Put the store back from a backup.`,
      );
    }
    const manifest = await decodeManifest(seal.open(prefix, sealed));
    if (manifest.sessionId !== sessionId) {
      throw new StoreError('store_damaged', 'The list of files in the store is another session’s.');
    }
    return manifest;
  }

  return {
    id,
    name: blobs.name,

    async save(request, signal) {
      const { sessionId, root, epoch } = request;
      await checkIdentity();
      const notesPath = join(root, NOTES);
      const notes = await usableNotes(notesPath, sessionId);
      const scan = await scanTrees(root, request.tops, request.isLeftOut);
      const prefix = prefixOf(sessionId);
      const saved = await saveTree({ root, scan, notes, blobs, seal, prefix, epoch, signal, nowMs });
      const { packs, entries, facts } = saved;
      const manifest: Manifest = { sessionId, epoch, root, workspace: request.workspace, packs, entries };
      const sealed = seal.close(prefix, await encodeManifest(manifest));
      signal.throwIfAborted();
      const name = `m.${epoch}.${randomBytes(6).toString('hex')}.${hashOf(sealed)}`;
      await blobs.put(`${prefix}${name}`, sealed);
      await writeNotes(notesPath, { name, manifest, facts });
      return {
        manifest: name,
        files: entries.filter((one) => one.type === 'file').length,
        readBytes: saved.readBytes,
        putBytes: saved.putBytes + sealed.length,
        unstorable: shown(scan.unstorable),
        restless: shown(saved.restless),
      };
    },

    async collect(sessionId, epoch, name) {
      const prefix = prefixOf(sessionId);
      const { packs } = await readManifest(sessionId, name);
      const needed = new Set([name, ...packs.map((pack) => pack.name)]);
      const unneeded = (await blobs.list(prefix)).filter((key) => {
        const object = key.slice(prefix.length);
        return !needed.has(object) && epochOf(object) <= epoch;
      });
      await blobs.remove(unneeded);
      return unneeded.length;
    },

    async restore({ sessionId, root }, name) {
      const manifest = await readManifest(sessionId, name);
      const into = `${root}.${randomBytes(4).toString('hex')}.part`;
      const old = `${root}.${randomBytes(4).toString('hex')}.old`;
      const notes = await readNotes(join(root, NOTES));
      const from = notes === undefined ? undefined : { root, notes };
      await mkdir(into, { recursive: true, mode: 0o700 });
      try {
        const restored = await restoreTree({ manifest, into, from, blobs, seal, prefix: prefixOf(sessionId) });
        await writeNotes(join(into, NOTES), { name, manifest, facts: restored.facts });
        await rename(root, old).catch(unlessMissing);
        await rename(into, root);
        const files = manifest.entries.filter((one) => one.type === 'file').length;
        const savedAt = { root: manifest.root, workspace: manifest.workspace };
        return { files, fetchedBytes: restored.fetchedBytes, savedAt };
      } finally {
        for (const left of [into, old]) {
          await removeTree(left).catch((error: unknown) => log.warn({ err: error }, 'an old copy is still here'));
        }
      }
    },

    async remove(sessionId) {
      await blobs.remove(await blobs.list(prefixOf(sessionId)));
    },
  };

  /** Notes of another session's, or of a list that this store never had, would be lies. */
  async function usableNotes(path: string, sessionId: string): Promise<FileNotes | undefined> {
    const notes = await readNotes(path);
    return notes?.manifest.sessionId === sessionId ? notes : undefined;
  }
}

async function openMarker(blobs: BlobStore): Promise<string> {
  const there = await readMarker(blobs);
  if (there !== undefined) return there;
  await blobs.putNew(MARKER, Buffer.from(`${JSON.stringify({ store_id: randomUUID() })}\n`));
  // Of two hosts that were first, one was.
  const id = await readMarker(blobs);
  if (id !== undefined) return id;
  throw new StoreError('store_unreachable', `The store (${blobs.name}) does not keep what is put into it.`);
}

async function readMarker(blobs: BlobStore): Promise<string | undefined> {
  const bytes = await blobs.get(MARKER);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (typeof value === 'object' && value !== null && 'store_id' in value && typeof value.store_id === 'string') {
      return value.store_id;
    }
  } catch {
    // Told below.
  }
  throw new StoreError(
    'store_damaged',
    `${MARKER} in the store (${blobs.name}) cannot be read. Put it back from a backup.`,
  );
}

function epochOf(object: string): number {
  const epoch = /^(?:m\.)?(\d+)\./.exec(object)?.[1];
  return epoch === undefined ? Number.POSITIVE_INFINITY : Number(epoch);
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function shown(paths: readonly BytePath[]): readonly string[] {
  const some = paths.slice(0, SHOWN_MAX).map(toShown);
  return paths.length > SHOWN_MAX ? [...some, `and ${paths.length - SHOWN_MAX} more`] : some;
}

function unlessMissing(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}
