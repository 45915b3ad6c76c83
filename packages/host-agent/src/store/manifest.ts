// The list of a session's files at one moment: every folder, link and file, and where in the store's
// packs each file's content lies. It is one object, written last; what it names is complete then. Pure.

import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { assertNever } from '@engram/harness-proto';
import { StoreError } from './store-error.js';
import { type BytePath, fromText, isInside, toText } from './tree-path.js';

/** `sha256` is of the content, in base64. `pack` counts in the manifest's own list. */
export interface Chunk {
  readonly pack: number;
  readonly offset: number;
  readonly length: number;
  readonly sha256: string;
}

export interface Pack {
  /** Of its object in the store. */
  readonly name: string;
  /** Of the pieces in it, whether this list still uses them or not. */
  readonly bytes: number;
}

interface EntryBase {
  readonly path: BytePath;
  /** The lower twelve bits. */
  readonly mode: number;
  /** Milliseconds, with fractions. */
  readonly mtimeMs: number;
}
export interface FileEntry extends EntryBase {
  readonly type: 'file';
  readonly size: number;
  readonly chunks: readonly Chunk[];
}
export interface FolderEntry extends EntryBase {
  readonly type: 'folder';
}
export interface LinkEntry extends EntryBase {
  readonly type: 'link';
  /** One character per byte, as it stands in the link. */
  readonly target: BytePath;
}
export type Entry = FileEntry | FolderEntry | LinkEntry;

export interface Manifest {
  readonly sessionId: string;
  readonly epoch: number;
  /** Where the session's folder and its workspace were: absolute paths that its files may hold. */
  readonly root: string;
  readonly workspace: string;
  readonly packs: readonly Pack[];
  /** Folders before what is in them. */
  readonly entries: readonly Entry[];
}

const FORM = 'engram-files-1';
const squeeze = promisify(gzip);
const unsqueeze = promisify(gunzip);

type StoredPath = string | { readonly b64: string };

export async function encodeManifest(manifest: Manifest): Promise<Uint8Array> {
  const { entries, ...facts } = manifest;
  const rows = entries.map(toRow);
  return squeeze(JSON.stringify({ form: FORM, ...facts, entries: rows }), { level: 1 });
}

function toRow(entry: Entry): readonly unknown[] {
  const base = [toStored(entry.path), entry.mode, entry.mtimeMs];
  switch (entry.type) {
    case 'folder':
      return ['d', ...base];
    case 'link':
      return ['l', ...base, toStored(entry.target)];
    case 'file':
      return ['f', ...base, entry.size, entry.chunks.map((one) => [one.pack, one.offset, one.length, one.sha256])];
    default:
      return assertNever(entry);
  }
}

export async function decodeManifest(bytes: Uint8Array): Promise<Manifest> {
  let value: unknown;
  try {
    value = JSON.parse((await unsqueeze(bytes)).toString('utf8'));
  } catch (cause) {
    throw damaged(cause);
  }
  if (!isRecord(value)) throw damaged();
  if (value.form !== FORM) {
    throw new StoreError(
      'store_damaged',
      'The list of files in the store is in a form that this release does not know. Use the release that stored it.',
    );
  }
  const { sessionId, epoch, root, workspace, packs, entries } = value;
  if (typeof sessionId !== 'string' || typeof epoch !== 'number') throw damaged();
  if (typeof root !== 'string' || typeof workspace !== 'string') throw damaged();
  if (!Array.isArray(packs) || !Array.isArray(entries)) throw damaged();
  const listed = packs.map(toPack);
  return {
    sessionId,
    epoch,
    root,
    workspace,
    packs: listed,
    entries: entries.map((row) => toEntry(row, listed.length)),
  };
}

function toPack(value: unknown): Pack {
  if (!isRecord(value)) throw damaged();
  return { name: toChecked(value.name, isString), bytes: toChecked(value.bytes, isCount) };
}

function toEntry(row: unknown, packs: number): Entry {
  if (!Array.isArray(row)) throw damaged();
  const [type, path, mode, mtimeMs, fourth, fifth]: unknown[] = row;
  const base = {
    path: fromStored(path),
    mode: toChecked(mode, isCount),
    mtimeMs: toChecked(mtimeMs, isNumber),
  };
  if (!isInside(base.path)) throw damaged();
  if (type === 'd') return { type: 'folder', ...base };
  if (type === 'l') return { type: 'link', ...base, target: fromStored(fourth) };
  if (type !== 'f' || !Array.isArray(fifth)) throw damaged();
  const chunks = fifth.map((one: unknown): Chunk => {
    if (!Array.isArray(one)) throw damaged();
    const [pack, offset, length, sha256]: unknown[] = one;
    const place = toChecked(pack, isCount);
    if (place >= packs) throw damaged();
    return {
      pack: place,
      offset: toChecked(offset, isCount),
      length: toChecked(length, isCount),
      sha256: toChecked(sha256, isString),
    };
  });
  const size = toChecked(fourth, isCount);
  if (chunks.reduce((sum, one) => sum + one.length, 0) !== size) throw damaged();
  return { type: 'file', ...base, size, chunks };
}

function toStored(path: BytePath): StoredPath {
  return toText(path) ?? { b64: Buffer.from(path, 'latin1').toString('base64') };
}

function fromStored(value: unknown): BytePath {
  if (typeof value === 'string') return fromText(value);
  if (isRecord(value) && typeof value.b64 === 'string') return Buffer.from(value.b64, 'base64').toString('latin1');
  throw damaged();
}

function toChecked<T>(value: unknown, is: (value: unknown) => value is T): T {
  if (is(value)) return value;
  throw damaged();
}

const isString = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isCount = (value: unknown): value is number => isNumber(value) && Number.isSafeInteger(value) && value >= 0;
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function damaged(cause?: unknown): StoreError {
  return new StoreError(
    'store_damaged',
    'The list of the session’s files in the store is damaged. Put the store back from a backup.',
    { cause },
  );
}
