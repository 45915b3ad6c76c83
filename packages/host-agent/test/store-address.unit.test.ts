// How a person says where session files are kept, and what is answered when that makes no sense.

import { describe, expect, it } from 'vitest';
import { parseStoreSettings, type StoreSettings } from '../src/store/store-address.js';

const keys = { accessKeyId: 'A', secretAccessKey: 'B' };
const problems = (settings: StoreSettings): string => {
  const choice = parseStoreSettings(settings);
  return choice.ok ? '' : choice.problems.join('; ');
};

describe('ENGRAM_STORE', () => {
  it('names a folder', () => {
    expect(parseStoreSettings({ address: 'file:///mnt/engram%20files/' })).toEqual({
      ok: true,
      address: { kind: 'folder', path: '/mnt/engram files' },
    });
  });

  it('names a bucket, at Amazon or elsewhere', () => {
    expect(parseStoreSettings({ address: 's3://my.bucket', ...keys, region: 'eu-west-1' })).toEqual({
      ok: true,
      address: {
        kind: 's3',
        place: { bucket: 'my.bucket', prefix: '', region: 'eu-west-1', pathStyle: false },
        credentials: keys,
      },
    });
    const own = 's3://files/a/b/?endpoint=http://127.0.0.1:9000&region=x';
    expect(parseStoreSettings({ address: own, ...keys, sessionToken: 'T' })).toMatchObject({
      address: {
        place: { prefix: 'a/b', region: 'x', endpoint: 'http://127.0.0.1:9000', pathStyle: true },
        credentials: { sessionToken: 'T' },
      },
    });
  });

  it.each([
    ['/mnt/engram', /must be file:\/\/\/absolute/],
    ['https://host/bucket', /must be file:\/\/\/absolute/],
    ['file://host/folder', /must name a folder as file:\/\/\//],
    ['file:///', /must name a folder/],
    ['s3://Bad_Bucket', /is none/],
    ['s3://files/a/../b c', /the prefix/],
    ['s3://files?retries=3', /takes region, endpoint, path_style, not "retries"/],
    ['s3://files?endpoint=ftp://x', /must begin with https/],
    ['s3://files?path_style=maybe', /true or false/],
    ['s3://id:secret@files', /AWS_ACCESS_KEY_ID/],
  ])('%s is refused with the next step', (address, words) => {
    expect(problems({ address, ...keys })).toMatch(words);
  });

  it('a bucket needs credentials, and every problem is named at once', () => {
    expect(problems({ address: 's3://files?x=1', key: 'short' })).toMatch(
      /openssl rand -base64 32.*not "x".*AWS_ACCESS_KEY_ID/,
    );
  });

  it('takes a key of 32 bytes in either spelling', () => {
    const bytes = Buffer.alloc(32, 7);
    for (const key of [bytes.toString('hex'), bytes.toString('base64')]) {
      const choice = parseStoreSettings({ address: 'file:///x', key });
      expect(choice.ok && Buffer.from(choice.key ?? []).equals(bytes)).toBe(true);
    }
    expect(problems({ address: 'file:///x', key: bytes.subarray(1).toString('hex') })).toMatch(/32 bytes/);
  });
});
