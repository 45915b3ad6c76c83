// Makes a folder as a manifest tells: beside its place first, so that a crash leaves the old files or
// the new ones. What an older copy on this host still has unchanged is moved over instead of fetched.
// Every piece is checked against its hash before it is written.

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, lstat, lutimes, mkdir, open, rename, symlink, utimes } from 'node:fs/promises';
import type { BlobStore } from './blob-store.js';
import type { FileNotes } from './file-notes.js';
import { forEachLimited } from './limited.js';
import type { Chunk, Entry, FileEntry, Manifest } from './manifest.js';
import type { Seal } from './seal.js';
import { StoreError } from './store-error.js';
import { type BytePath, toDisk } from './tree-path.js';
import { areEqual, type FileFacts, toFacts } from './tree-scan.js';

export interface RestoreInput {
  readonly manifest: Manifest;
  /** A new, empty folder. */
  readonly into: string;
  /** An older copy that is given up. */
  readonly from: { readonly root: string; readonly notes: FileNotes } | undefined;
  readonly blobs: BlobStore;
  readonly seal: Seal;
  readonly prefix: string;
}

export interface Restored {
  readonly facts: ReadonlyMap<BytePath, FileFacts>;
  readonly fetchedBytes: number;
}

const PACKS_AT_ONCE = 3;
const FILES_AT_ONCE = 16;

export async function restoreTree(input: RestoreInput): Promise<Restored> {
  const { manifest, into } = input;
  const folders = manifest.entries.filter((one) => one.type === 'folder');
  const files = manifest.entries.filter((one) => one.type === 'file');
  for (const { path } of folders) await mkdir(toDisk(into, path), { recursive: true, mode: 0o700 });

  const moved = await moveUnchanged(files, input);
  const missing = files.filter((one) => !moved.has(one.path));
  const fetchedBytes = await fetchFiles(missing, input);

  for (const entry of manifest.entries) {
    if (entry.type !== 'link') continue;
    const path = toDisk(into, entry.path);
    await symlink(Buffer.from(entry.target, 'latin1'), path);
    await lutimes(path, entry.mtimeMs / 1000, entry.mtimeMs / 1000);
  }
  const facts = new Map<BytePath, FileFacts>();
  await forEachLimited(files, FILES_AT_ONCE, async (entry) => {
    if (!moved.has(entry.path)) await finish(into, entry);
    facts.set(entry.path, toFacts(await lstat(toDisk(into, entry.path), { bigint: true })));
  });
  // From the inside out: a folder's own times and rights are set when nothing is made in it any more.
  for (const entry of [...folders].reverse()) await finish(into, entry);
  return { facts, fetchedBytes };
}

async function finish(into: string, entry: Entry): Promise<void> {
  const path = toDisk(into, entry.path);
  await utimes(path, entry.mtimeMs / 1000, entry.mtimeMs / 1000);
  await chmod(path, entry.mode);
}

async function moveUnchanged(files: readonly FileEntry[], input: RestoreInput): Promise<ReadonlySet<BytePath>> {
  const { from, into } = input;
  const moved = new Set<BytePath>();
  if (from === undefined) return moved;
  const before = new Map(
    from.notes.manifest.entries.flatMap((one): [BytePath, FileEntry][] =>
      one.type === 'file' ? [[one.path, one]] : [],
    ),
  );
  await forEachLimited(files, FILES_AT_ONCE, async (entry) => {
    const [old, facts] = [before.get(entry.path), from.notes.facts.get(entry.path)];
    if (old === undefined || facts === undefined || !haveSameContent(old, entry)) return;
    const path = toDisk(from.root, entry.path);
    const now = await lstat(path, { bigint: true }).catch(() => undefined);
    if (now === undefined || !now.isFile() || now.nlink !== 1n || !areEqual(toFacts(now), facts)) return;
    // A folder that cannot be changed keeps its files: they are fetched like any other.
    const done = await rename(path, toDisk(into, entry.path)).then(
      () => true,
      () => false,
    );
    if (!done) return;
    await finish(into, entry);
    moved.add(entry.path);
  });
  return moved;
}

function haveSameContent(a: FileEntry, b: FileEntry): boolean {
  return (
    a.size === b.size &&
    a.chunks.length === b.chunks.length &&
    a.chunks.every((one, at) => one.sha256 === b.chunks[at]?.sha256)
  );
}

interface Piece {
  readonly chunk: Chunk;
  readonly file: FileEntry;
  readonly position: number;
}

async function fetchFiles(files: readonly FileEntry[], input: RestoreInput): Promise<number> {
  const { manifest, into } = input;
  const byPack = new Map<number, Piece[]>();
  for (const file of files) {
    let position = 0;
    for (const chunk of file.chunks) {
      const pieces = byPack.get(chunk.pack) ?? [];
      pieces.push({ chunk, file, position });
      byPack.set(chunk.pack, pieces);
      position += chunk.length;
    }
  }
  await forEachLimited(
    files.filter((file) => file.chunks.length === 0),
    FILES_AT_ONCE,
    (file) => writePiece(into, file, new Uint8Array(0), 0),
  );
  let fetchedBytes = 0;
  await forEachLimited(byPack, PACKS_AT_ONCE, async ([pack, pieces]) => {
    const name = manifest.packs[pack]?.name ?? '';
    const bytes = await readPack(name, input);
    fetchedBytes += bytes.length;
    await forEachLimited(pieces, FILES_AT_ONCE, async ({ chunk, file, position }) => {
      const piece = bytes.subarray(chunk.offset, chunk.offset + chunk.length);
      if (createHash('sha256').update(piece).digest('base64') !== chunk.sha256) throw damaged(name);
      await writePiece(into, file, piece, position);
    });
  });
  return fetchedBytes;
}

async function readPack(name: string, { blobs, seal, prefix }: RestoreInput): Promise<Uint8Array> {
  const sealed = await blobs.get(`${prefix}${name}`);
  if (sealed === undefined) {
    throw new StoreError(
      'store_incomplete',
      `The store (${blobs.name}) has lost a part of this session’s files (${name}). Put the store back from a backup.`,
    );
  }
  if (!name.endsWith(`.${createHash('sha256').update(sealed).digest('hex')}`)) throw damaged(name);
  return seal.open(prefix, sealed);
}

/** At its place, because the pieces of a long file come in any order. */
async function writePiece(into: string, file: FileEntry, piece: Uint8Array, position: number): Promise<void> {
  const flags = constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW;
  const handle = await open(toDisk(into, file.path), flags, 0o600);
  try {
    for (let done = 0; done < piece.length; ) {
      done += (await handle.write(piece, done, piece.length - done, position + done)).bytesWritten;
    }
  } finally {
    await handle.close();
  }
}

function damaged(name: string): StoreError {
  return new StoreError(
    'store_damaged',
    `The object ${name} of the store is damaged. Put the store back from a backup.`,
  );
}
