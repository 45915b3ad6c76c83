// A backup as a file: gzip around the coordinator's bytes, 0600, complete or not there at all.

import { createReadStream, createWriteStream } from 'node:fs';
import { access, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { CliError } from './cli-error.js';

/** Gives the file's size. An existing file is never replaced. */
export async function writeBackupFile(path: string, bytes: AsyncIterable<Buffer>): Promise<number> {
  if (await exists(path)) {
    throw new CliError('backup_file', `${path} exists already.`, 'name a file that does not exist yet');
  }
  const part = `${path}.${process.pid}.part`;
  try {
    const file = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(Readable.from(bytes, { objectMode: false }), createGzip(), file);
    await rename(part, path);
    await syncFolder(dirname(resolve(path)));
    return (await stat(path)).size;
  } catch (error) {
    await rm(part, { force: true });
    throw toFileError('written', path, error);
  }
}

/** The bytes inside. Errors of the file and of the compression come out as sentences. */
export async function* readBackupFile(path: string): AsyncGenerator<Buffer> {
  const file = createReadStream(path);
  const gunzip = createGunzip();
  file.on('error', (error) => gunzip.destroy(error));
  file.pipe(gunzip);
  try {
    for await (const chunk of gunzip) {
      const bytes: Buffer = chunk;
      yield bytes;
    }
  } catch (error) {
    throw toFileError('read', path, error);
  } finally {
    file.destroy();
    gunzip.destroy();
  }
}

function toFileError(verb: 'read' | 'written', path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'Z_DATA_ERROR' || code === 'Z_BUF_ERROR') {
    return new CliError(
      'backup_damaged',
      `${path} is ${code === 'Z_BUF_ERROR' ? 'torn: it ends too early' : 'damaged, or not a backup of Engram'}. Nothing was changed.`,
      'use another copy of it, or an older backup',
      { cause: error },
    );
  }
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new CliError(
      'backup_file',
      `The disk of ${path} is full; no file was left there.`,
      'free some space, or name a file on another disk',
      { cause: error },
    );
  }
  if (/^E[A-Z]+$/.test(code)) {
    return new CliError('backup_file', `${path} cannot be ${verb} (${code}).`, 'check the path and its permissions', {
      cause: error,
    });
  }
  return error;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
