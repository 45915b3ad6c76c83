// Reads a file in pieces and says whether it stood still meanwhile. A file that changes under the
// reader is read again a few times; then it is taken as it was read last, which is as good as any
// moment of it, and told.

import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, open } from 'node:fs/promises';
import { isErrno } from '../socket-path.js';
import { areEqual, type FileFacts, toFacts } from './tree-scan.js';

/** The longest piece; a file is cut at its multiples, so what was appended changes only the last. */
export const PIECE_BYTES = 4 * 1024 * 1024;
const TRIES = 3;

export interface StableRead<T> {
  readonly pieces: readonly T[];
  readonly size: number;
  readonly facts: FileFacts;
  readonly stoodStill: boolean;
}

/** Undefined when there is no file of this name any more. `take` is given a buffer that is used again. */
export async function readStable<T>(
  path: Buffer,
  take: (piece: Uint8Array) => Promise<T>,
): Promise<StableRead<T> | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const file = await openReadable(path);
    if (file === undefined) return undefined;
    try {
      const before = await file.stat({ bigint: true });
      if (!before.isFile()) return undefined;
      const pieces: T[] = [];
      let size = 0;
      const buffer = Buffer.allocUnsafe(
        Number(before.size < BigInt(PIECE_BYTES) ? before.size + 1n : BigInt(PIECE_BYTES)),
      );
      for (;;) {
        const length = await fill(file, buffer, size);
        if (length === 0) break;
        pieces.push(await take(buffer.subarray(0, length)));
        size += length;
        if (length < buffer.length) break;
      }
      const after = await file.stat({ bigint: true });
      const stoodStill = areEqual(toFacts(before), toFacts(after)) && after.size === BigInt(size);
      if (stoodStill || attempt === TRIES) return { pieces, size, facts: toFacts(after), stoodStill };
    } finally {
      await file.close();
    }
  }
}

async function fill(file: FileHandle, buffer: Buffer, position: number): Promise<number> {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, position + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}

/** Agents may take the right to read from their own files; that must not keep them from being stored. */
async function openReadable(path: Buffer): Promise<FileHandle | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    return await open(path, flags);
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR') || isErrno(error, 'ELOOP')) return undefined;
    if (!isErrno(error, 'EACCES')) throw error;
    const { mode } = await lstat(path);
    await chmod(path, (mode & 0o7777) | 0o400);
    try {
      return await open(path, flags);
    } finally {
      await chmod(path, mode & 0o7777);
    }
  }
}
