// A folder and a bucket as places for objects.

import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFolderBlobs } from '../src/store/folder-blobs.js';
import { createS3Blobs, type S3Place } from '../src/store/s3-blobs.js';
import { blobStoreContract } from './blob-store-contract.js';
import { S3_CREDENTIALS, S3_REGION, type S3TestServer, startS3TestServer } from './s3-test-server.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eg-blobs-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a folder', () => {
  const fresh = () => mkdtemp(join(folder, 's-'));
  blobStoreContract(async () => createFolderBlobs(await fresh()));

  it('does not show what a writer that died left half written, and removes it with its folder', async () => {
    const root = await fresh();
    const blobs = createFolderBlobs(root);
    await blobs.put('sessions/a/one', Buffer.from('1'));
    await writeFile(join(root, 'sessions/a/.part-1-dead'), 'ha');
    expect(await blobs.list('sessions/a/')).toEqual(['sessions/a/one']);
    await blobs.remove(['sessions/a/one']);
    expect(await readdir(root)).toEqual([]);
  });

  it('says what to do when it is not there or cannot be written', async () => {
    const root = await fresh();
    const gone = createFolderBlobs(join(root, 'unmounted'));
    await expect(gone.put('a', Buffer.from('x'))).rejects.toMatchObject({ code: 'store_unreachable' });
    await expect(gone.get('a')).rejects.toThrow(/Make the folder, or mount it/);
    // Root may write everywhere.
    if (process.getuid?.() === 0) return;
    await chmod(root, 0o500);
    await expect(createFolderBlobs(root).put('a', Buffer.from('x'))).rejects.toMatchObject({ code: 'store_refused' });
  });
});

describe('a bucket', () => {
  let server: S3TestServer;
  beforeEach(async () => {
    server = await startS3TestServer('files');
    return () => server.close();
  });
  const place = (more: Partial<S3Place> = {}): S3Place => ({
    bucket: 'files',
    prefix: 'team/one',
    region: S3_REGION,
    endpoint: server.endpoint,
    pathStyle: true,
    ...more,
  });
  blobStoreContract(() => createS3Blobs(place(), S3_CREDENTIALS));

  it('stays below its prefix', async () => {
    await createS3Blobs(place(), S3_CREDENTIALS).put('a/b', Buffer.from('x'));
    await createS3Blobs(place({ prefix: '' }), S3_CREDENTIALS).put('c', Buffer.from('x'));
    expect([...server.objects.keys()]).toEqual(['team/one/a/b', 'c']);
  });

  it('tries again what may pass, and says so when it does not', async () => {
    const blobs = createS3Blobs(place(), S3_CREDENTIALS);
    server.failNext(2);
    await blobs.put('a', Buffer.from('x'));
    expect(server.requests).toHaveLength(3);
    server.failNext(99, 429);
    await expect(blobs.get('a')).rejects.toMatchObject({ code: 'store_unreachable' });
    await server.close();
    await expect(blobs.get('a')).rejects.toThrow(/does not answer: .*ECONNREFUSED.* Check the endpoint/);
  });

  it('names what was refused: a wrong key, a missing bucket', async () => {
    const forged = createS3Blobs(place(), { ...S3_CREDENTIALS, secretAccessKey: 'another' });
    await expect(forged.put('a', Buffer.from('x'))).rejects.toThrow(/SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY/);
    const elsewhere = createS3Blobs(place({ bucket: 'elsewhere' }), S3_CREDENTIALS);
    await expect(elsewhere.get('a')).rejects.toMatchObject({ code: 'store_refused' });
    expect(server.objects.size).toBe(0);
  });
});
