// Lists everything below some folders: names, kinds and the facts by which a change is seen. Reads no
// contents. What a store cannot hold (sockets, pipes, devices) is listed apart, never skipped in silence.

import type { BigIntStats, Dirent } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { isErrno } from '../socket-path.js';
import { forEachLimited } from './limited.js';
import { type BytePath, toDisk } from './tree-path.js';

/** When these are equal, so is the content: the change time moves with every write. */
export interface FileFacts {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

export type Found = { readonly path: BytePath; readonly mode: number; readonly mtimeMs: number } & (
  | { readonly type: 'folder' }
  | { readonly type: 'link'; readonly target: BytePath }
  | { readonly type: 'file'; readonly facts: FileFacts }
);

export interface Scan {
  /** Sorted by path, so a folder comes before what is in it. */
  readonly found: readonly Found[];
  /** Sockets, pipes and devices. */
  readonly unstorable: readonly BytePath[];
}

const AT_ONCE = 32;

/** `tops` are names below `root`; one that is not there is no error. */
export async function scanTrees(
  root: string,
  tops: readonly BytePath[],
  isLeftOut: (path: BytePath) => boolean,
): Promise<Scan> {
  const found: Found[] = [];
  const unstorable: BytePath[] = [];

  async function visit(path: BytePath): Promise<void> {
    const stat = await statOf(root, path);
    if (stat === undefined) return;
    const common = { path, mode: Number(stat.mode & 0o7777n), mtimeMs: Number(stat.mtimeNs) / 1e6 };
    if (stat.isDirectory()) found.push({ type: 'folder', ...common });
    else if (stat.isSymbolicLink()) found.push({ type: 'link', ...common, target: await linkTarget(root, path) });
    else if (stat.isFile()) found.push({ type: 'file', ...common, facts: toFacts(stat) });
    else unstorable.push(path);
  }

  let level = tops.filter((path) => !isLeftOut(path));
  for (const top of level) await visit(top);
  level = found.flatMap((each) => (each.type === 'folder' ? [each.path] : []));
  while (level.length > 0) {
    const children: BytePath[] = [];
    await forEachLimited(level, AT_ONCE, async (folder) => {
      for (const entry of await namesIn(root, folder)) {
        const path = `${folder}/${entry.name.toString('latin1')}`;
        if (!isLeftOut(path)) children.push(path);
      }
    });
    const before = found.length;
    await forEachLimited(children, AT_ONCE, visit);
    level = found.slice(before).flatMap((each) => (each.type === 'folder' ? [each.path] : []));
  }
  return { found: found.sort((a, b) => (a.path < b.path ? -1 : 1)), unstorable };
}

export function toFacts({ ino, size, mtimeNs, ctimeNs }: BigIntStats): FileFacts {
  return { ino, size, mtimeNs, ctimeNs };
}

export function areEqual(a: FileFacts, b: FileFacts): boolean {
  return a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}

async function statOf(root: string, path: BytePath): Promise<BigIntStats | undefined> {
  return lstat(toDisk(root, path), { bigint: true }).catch(unlessGone);
}

async function namesIn(root: string, path: BytePath): Promise<readonly Dirent<Buffer>[]> {
  return (await readdir(toDisk(root, path), { withFileTypes: true, encoding: 'buffer' }).catch(unlessGone)) ?? [];
}

async function linkTarget(root: string, path: BytePath): Promise<BytePath> {
  return (await readlink(toDisk(root, path), { encoding: 'buffer' })).toString('latin1');
}

/** Something that lives here removed it between two looks. */
function unlessGone(error: unknown): undefined {
  if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return undefined;
  throw error;
}
