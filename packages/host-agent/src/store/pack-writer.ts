// Gathers pieces of files into packs of some megabytes and puts these into the store, a few at a time.
// A piece that is there already, by its hash, is not put in again.

import { createHash } from 'node:crypto';
import type { BlobStore } from './blob-store.js';
import type { Chunk, Pack } from './manifest.js';
import type { Seal } from './seal.js';

/** Small enough to be held in memory a few times, large enough that thousands of small files are few objects. */
export const PACK_BYTES = 8 * 1024 * 1024;
const UPLOADS = 3;

export interface PackWriter {
  /** `bytes` may be used again by the caller when it resolves. */
  add(bytes: Uint8Array): Promise<Chunk>;
  /** Puts what is left; resolves when every pack is durable. */
  finish(): Promise<{ readonly packs: readonly Pack[]; readonly putBytes: number }>;
}

export interface PackWriterDeps {
  readonly blobs: BlobStore;
  readonly seal: Seal;
  /** Where this session's packs lie; ends in `/`. */
  readonly prefix: string;
  /** Fences the names: a later holder of the session never shares one with an earlier. */
  readonly epoch: number;
  /** Packs of the manifest before, and the pieces in them that may be used again. */
  readonly packs: readonly Pack[];
  readonly known: ReadonlyMap<string, Chunk>;
}

export function createPackWriter(deps: PackWriterDeps): PackWriter {
  const { blobs, seal, prefix, epoch } = deps;
  const packs = [...deps.packs];
  const known = new Map(deps.known);
  const uploads = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  let parts: Uint8Array[] = [];
  let filled = 0;
  let place = packs.length;
  let putBytes = 0;

  async function flush(): Promise<void> {
    if (filled === 0) return;
    const bytes = Buffer.concat(parts);
    const at = place;
    parts = [];
    filled = 0;
    place = packs.push({ name: '', bytes: bytes.length });
    // The place is taken before anybody waits: pieces that come meanwhile go into the next pack.
    while (uploads.size >= UPLOADS) await Promise.race(uploads);
    if (failure !== undefined) throw failure.error;
    const upload = put(bytes, at)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => uploads.delete(upload));
    uploads.add(upload);
  }

  async function put(bytes: Uint8Array, at: number): Promise<void> {
    const sealed = seal.close(prefix, bytes);
    const name = `${epoch}.${createHash('sha256').update(sealed).digest('hex')}`;
    packs[at] = { name, bytes: bytes.length };
    await blobs.put(`${prefix}${name}`, sealed);
    putBytes += sealed.length;
  }

  return {
    async add(bytes) {
      const sha256 = createHash('sha256').update(bytes).digest('base64');
      const there = known.get(sha256);
      if (there !== undefined && there.length === bytes.length) return there;
      while (filled > 0 && filled + bytes.length > PACK_BYTES) await flush();
      const chunk: Chunk = { pack: place, offset: filled, length: bytes.length, sha256 };
      parts.push(Buffer.from(bytes));
      filled += bytes.length;
      known.set(sha256, chunk);
      return chunk;
    },
    async finish() {
      await flush();
      await Promise.all(uploads);
      if (failure !== undefined) throw failure.error;
      return { packs, putBytes };
    },
  };
}
