// Puts the files of a session into the store: only what is not there yet. A file whose facts are as
// they were noted is not read; a pack of which little is still used is left behind and what is used
// of it stored anew. The manifest is made last, by the caller.

import type { BlobStore } from './blob-store.js';
import type { FileNotes } from './file-notes.js';
import { forEachLimited } from './limited.js';
import type { Chunk, Entry, FileEntry, Pack } from './manifest.js';
import { createPackWriter } from './pack-writer.js';
import { readStable } from './read-stable.js';
import type { Seal } from './seal.js';
import { type BytePath, toDisk } from './tree-path.js';
import { areEqual, type FileFacts, type Found, type Scan } from './tree-scan.js';

export interface SaveInput {
  readonly root: string;
  readonly scan: Scan;
  readonly notes: FileNotes | undefined;
  readonly blobs: BlobStore;
  readonly seal: Seal;
  readonly prefix: string;
  readonly epoch: number;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
}

export interface Saved {
  readonly packs: readonly Pack[];
  readonly entries: readonly Entry[];
  readonly facts: ReadonlyMap<BytePath, FileFacts>;
  readonly readBytes: number;
  readonly putBytes: number;
  /** Changed again and again while they were read. */
  readonly restless: readonly BytePath[];
}

const FILES_AT_ONCE = 8;
/** Clocks of file systems are coarse: a file that changed this recently may change again unseen. */
const COARSE_MS = 2_000;
const WORN_SHARE = 0.5;

export async function saveTree(input: SaveInput): Promise<Saved> {
  const { scan, notes, signal } = input;
  const { usable, known } = usableParts(scan.found, notes);
  const { blobs, seal, prefix, epoch } = input;
  const writer = createPackWriter({ blobs, seal, prefix, epoch, packs: notes?.manifest.packs ?? [], known });
  const facts = new Map<BytePath, FileFacts>();
  const read = new Map<BytePath, FileEntry>();
  const restless: BytePath[] = [];
  let readBytes = 0;

  const toRead = scan.found.filter((one) => one.type === 'file' && !usable.has(one.path));
  await forEachLimited(toRead, FILES_AT_ONCE, async ({ path, mode, mtimeMs }) => {
    signal.throwIfAborted();
    const content = await readStable(toDisk(input.root, path), (piece) => writer.add(piece));
    if (content === undefined) return;
    const { pieces, size, stoodStill } = content;
    readBytes += size;
    read.set(path, {
      type: 'file',
      path,
      mode,
      mtimeMs: stoodStill ? toMs(content.facts) : mtimeMs,
      size,
      chunks: pieces,
    });
    if (!stoodStill) restless.push(path);
    else if (toMs({ mtimeNs: content.facts.ctimeNs }) < input.nowMs() - COARSE_MS) facts.set(path, content.facts);
  });
  const { packs, putBytes } = await writer.finish();
  signal.throwIfAborted();

  const entries: Entry[] = [];
  for (const one of scan.found) {
    if (one.type !== 'file') {
      entries.push(one);
      continue;
    }
    const kept = usable.get(one.path);
    const entry = kept === undefined ? read.get(one.path) : { ...kept, mode: one.mode, mtimeMs: one.mtimeMs };
    if (entry === undefined) continue;
    entries.push(entry);
    if (kept !== undefined) facts.set(one.path, one.facts);
  }
  return { ...withoutUnused(packs, entries), facts, readBytes, putBytes, restless };
}

interface UsableParts {
  /** Files that are as they were noted. */
  readonly usable: ReadonlyMap<BytePath, FileEntry>;
  /** Pieces in the store, by their hash: a file that changed may still hold most of them. */
  readonly known: ReadonlyMap<string, Chunk>;
}

function usableParts(found: readonly Found[], notes: FileNotes | undefined): UsableParts {
  if (notes === undefined) return { usable: new Map(), known: new Map() };
  const before = new Map(
    notes.manifest.entries.flatMap((one): [BytePath, FileEntry][] => (one.type === 'file' ? [[one.path, one]] : [])),
  );
  const still = found.flatMap((one) => (one.type === 'file' ? (before.get(one.path) ?? []) : []));
  const worn = wornPacks(notes.manifest.packs, still);
  const isKept = (chunk: Chunk): boolean => !worn.has(chunk.pack);
  const chunks = [...before.values()].flatMap((entry) => entry.chunks.filter(isKept));
  const usable = new Map<BytePath, FileEntry>();
  for (const one of found) {
    if (one.type !== 'file') continue;
    const [entry, facts] = [before.get(one.path), notes.facts.get(one.path)];
    if (entry === undefined || facts === undefined || !areEqual(facts, one.facts)) continue;
    if (entry.chunks.every(isKept)) usable.set(one.path, entry);
  }
  return { usable, known: new Map(chunks.map((chunk) => [chunk.sha256, chunk])) };
}

/** Packs of which the files that are still there use less than half. */
function wornPacks(packs: readonly Pack[], still: readonly FileEntry[]): ReadonlySet<number> {
  const used = usedBytes(still);
  return new Set(packs.flatMap(({ bytes }, pack) => ((used.get(pack) ?? 0) < bytes * WORN_SHARE ? [pack] : [])));
}

function usedBytes(entries: Iterable<Entry>): ReadonlyMap<number, number> {
  const used = new Map<number, number>();
  for (const entry of entries) {
    if (entry.type !== 'file') continue;
    for (const { pack, length } of entry.chunks) used.set(pack, (used.get(pack) ?? 0) + length);
  }
  return used;
}

/** The list names only packs that it needs. */
function withoutUnused(
  packs: readonly Pack[],
  entries: readonly Entry[],
): { readonly packs: readonly Pack[]; readonly entries: readonly Entry[] } {
  const used = usedBytes(entries);
  const order = [...used.keys()].sort((a, b) => a - b);
  const place = new Map(order.map((pack, at) => [pack, at]));
  return {
    packs: order.flatMap((pack) => packs[pack] ?? []),
    entries: entries.map((entry) =>
      entry.type === 'file'
        ? { ...entry, chunks: entry.chunks.map((chunk) => ({ ...chunk, pack: place.get(chunk.pack) ?? 0 })) }
        : entry,
    ),
  };
}

function toMs({ mtimeNs }: { readonly mtimeNs: bigint }): number {
  return Number(mtimeNs) / 1e6;
}
