// What every place for objects must do, whatever it is made of.

import { expect, it } from 'vitest';
import type { BlobStore } from '../src/store/blob-store.js';

export function blobStoreContract(open: () => Promise<BlobStore> | BlobStore): void {
  it('gives back what was put, byte for byte, and nothing for what was not', async () => {
    const blobs = await open();
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 31) % 256));
    await blobs.put('sessions/a/one', bytes);
    await blobs.put('sessions/a/empty', Buffer.alloc(0));
    expect(Buffer.from((await blobs.get('sessions/a/one')) ?? []).equals(bytes)).toBe(true);
    expect(await blobs.get('sessions/a/empty')).toHaveLength(0);
    expect(await blobs.get('sessions/a/two')).toBeUndefined();
  });

  it('replaces an object, and makes a new one only where there is none', async () => {
    const blobs = await open();
    await blobs.put('place', Buffer.from('first'));
    await blobs.put('place', Buffer.from('second'));
    expect(await blobs.putNew('place', Buffer.from('third'))).toBe(false);
    expect(Buffer.from((await blobs.get('place')) ?? []).toString()).toBe('second');
    const both = await Promise.all([blobs.putNew('new', Buffer.from('x')), blobs.putNew('new', Buffer.from('y'))]);
    expect(both.filter(Boolean)).toHaveLength(1);
  });

  it('lists all below a prefix and nothing else, however many, and removes them', async () => {
    const blobs = await open();
    const keys = Array.from({ length: 8 }, (_, at) => `sessions/b/part.${at}`);
    for (const key of [...keys, 'sessions/bb/other', 'top']) await blobs.put(key, Buffer.from(key));
    expect([...(await blobs.list('sessions/b/'))].sort()).toEqual(keys);
    expect(await blobs.list('sessions/none/')).toEqual([]);
    await blobs.remove([...keys.slice(1), 'sessions/b/never-there']);
    expect(await blobs.list('sessions/b/')).toEqual(keys.slice(0, 1));
    await blobs.remove(keys.slice(0, 1));
    expect(await blobs.list('sessions/b/')).toEqual([]);
    expect(await blobs.list('sessions/bb/')).toEqual(['sessions/bb/other']);
  });

  it('takes no key that could lead out of it', async () => {
    const blobs = await open();
    for (const key of ['../x', 'a/../../x', '/x', 'a//b', 'a/.hidden', '']) {
      await expect(blobs.put(key, Buffer.from('x'))).rejects.toThrow('not a key');
    }
  });
}
