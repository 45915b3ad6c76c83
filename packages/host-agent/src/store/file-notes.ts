// What a host remembers of the files it last put into the store or took from it: the list as it was
// stored, and by which facts each file is known to be unchanged. It only saves work; when it is
// missing or torn, everything is read again.

import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { writeFileAtomically } from '../session-folder.js';
import { decodeManifest, encodeManifest, type Manifest } from './manifest.js';
import type { BytePath } from './tree-path.js';
import type { FileFacts } from './tree-scan.js';

export interface FileNotes {
  /** The manifest's name in the store. */
  readonly name: string;
  readonly manifest: Manifest;
  readonly facts: ReadonlyMap<BytePath, FileFacts>;
}

const squeeze = promisify(gzip);
const unsqueeze = promisify(gunzip);

export async function readNotes(path: string): Promise<FileNotes | undefined> {
  try {
    const value: unknown = JSON.parse((await unsqueeze(await readFile(path))).toString('utf8'));
    if (typeof value !== 'object' || value === null) return undefined;
    if (!('name' in value) || !('manifest' in value) || !('facts' in value)) return undefined;
    const { name, manifest, facts } = value;
    if (typeof name !== 'string' || typeof manifest !== 'string' || !Array.isArray(facts)) return undefined;
    return {
      name,
      manifest: await decodeManifest(Buffer.from(manifest, 'base64')),
      facts: new Map(facts.map(toFact)),
    };
  } catch {
    return undefined;
  }
}

export async function writeNotes(path: string, { name, manifest, facts }: FileNotes): Promise<void> {
  const text = JSON.stringify({
    name,
    manifest: Buffer.from(await encodeManifest(manifest)).toString('base64'),
    facts: [...facts].map(([file, { ino, size, mtimeNs, ctimeNs }]) => [
      file,
      ...[ino, size, mtimeNs, ctimeNs].map(String),
    ]),
  });
  await writeFileAtomically(path, await squeeze(text, { level: 1 }));
}

function toFact(row: unknown): [BytePath, FileFacts] {
  if (!Array.isArray(row)) throw new TypeError('not a row of file notes');
  const [path, ino, size, mtimeNs, ctimeNs] = row.map(String);
  if (path === undefined) throw new TypeError('not a row of file notes');
  return [path, { ino: toBig(ino), size: toBig(size), mtimeNs: toBig(mtimeNs), ctimeNs: toBig(ctimeNs) }];
}

function toBig(text: string | undefined): bigint {
  return BigInt(text ?? 'missing');
}
