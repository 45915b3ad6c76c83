// The store of session files on a real folder: what is kept, what is not done twice, and what happens
// when a host dies, a file moves or the store lies.

import { createHash, randomBytes } from 'node:crypto';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BlobStore } from '../src/store/blob-store.js';
import { type FileStore, openFileStore, type SavedFiles } from '../src/store/file-store.js';
import { createFolderBlobs } from '../src/store/folder-blobs.js';
import { createSeal } from '../src/store/seal.js';

const log = pino({ level: 'silent' });
const SESSION = '11111111-2222-3333-4444-555555555555';
let base: string;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'eg-files-'));
});
afterAll(() => rm(base, { recursive: true, force: true }));

interface Scene {
  readonly store: FileStore;
  readonly storeDir: string;
  readonly blobs: BlobStore;
  /** A session's folder on a first and a second host. */
  readonly here: string;
  readonly there: string;
  put(path: string, content: string | Buffer): Promise<void>;
  save(epoch?: number, root?: string, signal?: AbortSignal): Promise<SavedFiles>;
}

async function scene(key?: Buffer, wrap: (blobs: BlobStore) => BlobStore = (blobs) => blobs): Promise<Scene> {
  const root = await mkdtemp(join(base, 's-'));
  const storeDir = join(root, 'store');
  await mkdir(storeDir);
  const here = join(root, 'a', SESSION);
  await mkdir(join(here, 'workspace'), { recursive: true });
  await mkdir(join(root, 'b'));
  const blobs = wrap(createFolderBlobs(storeDir));
  // Hours ahead: what a test writes counts as settled.
  const store = await openFileStore({ blobs, seal: createSeal(key), log, nowMs: () => Date.now() + 3_600_000 });
  return {
    store,
    storeDir,
    blobs,
    here,
    there: join(root, 'b', SESSION),
    async put(path, content) {
      await mkdir(join(here, 'workspace', path, '..'), { recursive: true });
      await writeFile(join(here, 'workspace', path), content);
    },
    save: (epoch = 1, folder = here, signal = new AbortController().signal) =>
      store.save(
        {
          sessionId: SESSION,
          root: folder,
          epoch,
          tops: ['home', 'state', 'workspace'],
          isLeftOut: (path) => path === 'home/.claude/.credentials.json',
          workspace: join(folder, 'workspace'),
        },
        signal,
      ),
  };
}

/** Everything about a tree that must come back, but for times. */
async function picture(root: string, path = ''): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const name of (await readdir(join(root, path), { encoding: 'buffer' })).sort(Buffer.compare)) {
    const full = Buffer.concat([Buffer.from(join(root, path, '/')), name]);
    const stat = await lstat(full);
    const shown = `${path}/${name.toString('latin1')} ${(stat.mode & 0o7777).toString(8)}`;
    if (stat.isSymbolicLink()) lines.push(`${shown} -> ${await readlink(full)}`);
    else if (stat.isDirectory()) lines.push(`${shown}/`, ...(await picture(root, join(path, name.toString()))));
    else
      lines.push(
        `${shown} ${createHash('sha256')
          .update(await readFile(full))
          .digest('hex')}`,
      );
  }
  return lines;
}

async function objects(storeDir: string): Promise<readonly string[]> {
  return readdir(join(storeDir, 'sessions', SESSION)).catch(() => []);
}

async function furnish({ here, put }: Scene): Promise<void> {
  await put('src/a.txt', 'hello\n');
  await put('src/copy.txt', 'hello\n');
  await put('empty', '');
  await put('run.sh', '#!/bin/sh\n');
  await put('large.bin', randomBytes(9 * 1024 * 1024 + 17));
  const space = join(here, 'workspace');
  await chmod(join(space, 'run.sh'), 0o751);
  await mkdir(join(space, 'void/in/void'), { recursive: true });
  await symlink('src/a.txt', join(space, 'link'));
  await symlink('/nowhere/at all', join(space, 'dangling'));
  await writeFile(Buffer.concat([Buffer.from(`${space}/`), Buffer.from([0xff, 0xfe, 0x41])]), 'no text name');
  await writeFile(join(space, 'käse 🧀\n.txt'), 'text name');
  await utimes(join(space, 'src/a.txt'), 1_000_000_000, 1_234_567_890.123);
  await mkdir(join(space, 'shut'));
  await writeFile(join(space, 'shut/inside'), 'x');
  await writeFile(join(space, 'secret'), 'unreadable');
  await chmod(join(space, 'secret'), 0o000);
  await chmod(join(space, 'shut'), 0o555);
  await mkdir(join(here, 'home/.claude'), { recursive: true });
  await writeFile(join(here, 'home/.claude/.credentials.json'), 'a login');
  await writeFile(join(here, 'home/.claude/x.jsonl'), '{}\n');
}

describe('what comes back on another host', () => {
  it('is everything: contents, rights, times, links, empty folders, names that are no text', async () => {
    const s = await scene();
    await furnish(s);
    const saved = await s.save();
    expect(saved).toMatchObject({ files: 10, unstorable: [], restless: [] });
    const restored = await s.store.restore({ sessionId: SESSION, root: s.there }, saved.manifest);
    expect(restored).toMatchObject({ files: 10, savedAt: { root: s.here, workspace: join(s.here, 'workspace') } });
    expect(await picture(join(s.there, 'workspace'))).toEqual(await picture(join(s.here, 'workspace')));
    for (const name of ['src/a.txt', 'large.bin', 'link', 'void/in', 'shut']) {
      const [old, now] = await Promise.all([s.here, s.there].map((root) => lstat(join(root, 'workspace', name))));
      expect(Math.abs((now?.mtimeMs ?? 0) - (old?.mtimeMs ?? 1))).toBeLessThan(0.01);
    }
    expect(await readdir(join(s.there, 'home/.claude'))).toEqual(['x.jsonl']);
    // Equal files are there once, and small ones share a pack.
    expect((await objects(s.storeDir)).length).toBeLessThan(6);
  });

  it('is the same through encryption, of which nothing can be read without the key', async () => {
    const key = randomBytes(32);
    const s = await scene(key);
    await s.put('a.txt', 'a line that must not be readable');
    const { manifest } = await s.save();
    for (const name of await objects(s.storeDir)) {
      const bytes = await readFile(join(s.storeDir, 'sessions', SESSION, name));
      expect(bytes.includes('must not be readable') || bytes.includes('a.txt')).toBe(false);
    }
    for (const [other, words] of [
      [undefined, /are encrypted\. Start the host with the ENGRAM_STORE_KEY/],
      [randomBytes(32), /encrypted with another key/],
    ] as const) {
      const stranger = await openFileStore({ blobs: s.blobs, seal: createSeal(other), log });
      await expect(stranger.restore({ sessionId: SESSION, root: s.there }, manifest)).rejects.toThrow(words);
    }
    await s.store.restore({ sessionId: SESSION, root: s.there }, manifest);
    expect(await readFile(join(s.there, 'workspace/a.txt'), 'utf8')).toBe('a line that must not be readable');
  });

  it('replaces an older copy there, and fetches only what that copy does not have', async () => {
    const s = await scene();
    await s.put('same.bin', randomBytes(5_000_000));
    await s.put('gone.txt', 'x');
    const first = await s.save(1);
    await s.store.restore({ sessionId: SESSION, root: s.there }, first.manifest);
    await s.put('changed.txt', 'new');
    await rm(join(s.here, 'workspace/gone.txt'));
    const second = await s.save(2);
    await writeFile(join(s.there, 'workspace/stray.txt'), 'written there by nobody who may');
    const restored = await s.store.restore({ sessionId: SESSION, root: s.there }, second.manifest);
    expect(restored.fetchedBytes).toBeLessThan(10_000);
    expect(await picture(join(s.there, 'workspace'))).toEqual(await picture(join(s.here, 'workspace')));
    expect((await readdir(join(s.there, '..'))).filter((name) => name !== SESSION)).toEqual([]);
  });
});

describe('a second save', () => {
  it('reads and puts only what changed, also when a long file only grew', async () => {
    const s = await scene();
    for (let at = 0; at < 300; at += 1) await s.put(`many/${at}.txt`, `file ${at}\n`.repeat(50));
    await s.put('long.log', randomBytes(20 * 1024 * 1024));
    const first = await s.save();
    expect(first.readBytes).toBeGreaterThan(20 * 1024 * 1024);
    expect(await s.save()).toMatchObject({ readBytes: 0 });
    await writeFile(join(s.here, 'workspace/many/7.txt'), 'changed');
    await writeFile(join(s.here, 'workspace/long.log'), 'one more line', { flag: 'a' });
    const third = await s.save();
    expect(third.readBytes).toBe(20 * 1024 * 1024 + 13 + 7);
    expect(third.putBytes).toBeLessThan(100_000);
    const { manifest } = third;
    await s.store.restore({ sessionId: SESSION, root: s.there }, manifest);
    expect(await picture(join(s.there, 'workspace'))).toEqual(await picture(join(s.here, 'workspace')));
  });

  it('sees a change that keeps size and time, and one right after the first save', async () => {
    const s = await scene();
    await s.put('a.txt', 'one');
    const { mtime } = await lstat(join(s.here, 'workspace/a.txt'));
    await s.save();
    await s.put('a.txt', 'two');
    await utimes(join(s.here, 'workspace/a.txt'), mtime, mtime);
    const { manifest } = await s.save();
    await s.store.restore({ sessionId: SESSION, root: s.there }, manifest);
    expect(await readFile(join(s.there, 'workspace/a.txt'), 'utf8')).toBe('two');
  });

  it('leaves a pack behind when little of it is still used, and what nobody lists is collected', async () => {
    const s = await scene();
    for (let at = 0; at < 10; at += 1) await s.put(`${at}.bin`, randomBytes(500_000));
    const first = await s.save(1);
    await s.store.collect(SESSION, 1, first.manifest);
    for (let at = 0; at < 8; at += 1) await rm(join(s.here, `workspace/${at}.bin`));
    const second = await s.save(2);
    expect(second.putBytes).toBeGreaterThan(900_000);
    expect(await s.store.collect(SESSION, 2, second.manifest)).toBe(2);
    expect(await objects(s.storeDir)).toHaveLength(2);
    await s.store.restore({ sessionId: SESSION, root: s.there }, second.manifest);
    expect(await picture(join(s.there, 'workspace'))).toEqual(await picture(join(s.here, 'workspace')));
  });
});

describe('two hosts on one session', () => {
  it('cannot harm one another: a late save and a late collection of the one that lost it change nothing', async () => {
    const s = await scene();
    await s.put('a.bin', randomBytes(300_000));
    await s.put('b.bin', randomBytes(300_000));
    const first = await s.save(5);
    await s.store.restore({ sessionId: SESSION, root: s.there }, first.manifest);
    // The other goes on with a later epoch; the old one saves something else and cleans up by its own list.
    await rm(join(s.there, 'workspace/a.bin'));
    await writeFile(join(s.there, 'workspace/c.bin'), randomBytes(300_000));
    const newer = await s.save(6, s.there);
    await s.put('d.bin', randomBytes(300_000));
    const late = await s.save(5);
    await s.store.collect(SESSION, 5, first.manifest);
    const again = join(s.there, '../again');
    await s.store.restore({ sessionId: SESSION, root: again }, newer.manifest);
    expect(await picture(join(again, 'workspace'))).toEqual(await picture(join(s.there, 'workspace')));
    await s.store.collect(SESSION, 6, newer.manifest);
    await expect(s.store.restore({ sessionId: SESSION, root: again }, late.manifest)).rejects.toMatchObject({
      code: 'store_incomplete',
    });
    await s.store.restore({ sessionId: SESSION, root: again }, newer.manifest);
  });

  it('agree on which store it is, also when both are the first', async () => {
    const s = await scene();
    await rm(join(s.storeDir, 'engram-store.json'));
    const open = () => openFileStore({ blobs: s.blobs, seal: createSeal(undefined), log });
    const ids = (await Promise.all([open(), open(), open()])).map((store) => store.id);
    expect(new Set(ids).size).toBe(1);
  });
});

describe('trouble', () => {
  it('a save that is cut short at any object leaves the files of the save before', async () => {
    let left = Number.POSITIVE_INFINITY;
    const s = await scene(undefined, (blobs) => ({
      ...blobs,
      put(key, bytes) {
        left -= 1;
        return left < 0 ? Promise.reject(new Error('the host died')) : blobs.put(key, bytes);
      },
    }));
    await s.put('a.txt', 'first');
    const first = await s.save(1);
    const before = await picture(join(s.here, 'workspace'));
    await s.put('a.txt', 'second');
    for (let at = 0; at < 3; at += 1) await s.put(`${at}.bin`, randomBytes(6_000_000));
    for (left = 0; ; ) {
      const allowed = left;
      const done = await s.save(2).then(
        () => true,
        () => false,
      );
      if (done) break;
      await rm(s.there, { recursive: true, force: true });
      left = Number.POSITIVE_INFINITY;
      await s.store.restore({ sessionId: SESSION, root: s.there }, first.manifest);
      expect(await picture(join(s.there, 'workspace'))).toEqual(before);
      left = allowed + 1;
    }
  });

  it('a damaged or missing object is found, named, and nothing is put in place of what was there', async () => {
    const s = await scene();
    await s.put('a.bin', randomBytes(100_000));
    const { manifest } = await s.save();
    await mkdir(s.there);
    await writeFile(join(s.there, 'old'), 'still here');
    const pack = (await objects(s.storeDir)).find((name) => name.startsWith('1.')) ?? '';
    const path = join(s.storeDir, 'sessions', SESSION, pack);
    const good = await readFile(path);
    const restore = () => s.store.restore({ sessionId: SESSION, root: s.there }, manifest);
    const damaged = Buffer.from(good);
    damaged.writeUInt8(good.readUInt8(5_000) ^ 1, 5_000);
    await writeFile(path, damaged);
    await expect(restore()).rejects.toMatchObject({ code: 'store_damaged' });
    await truncate(path, 4_000);
    await expect(restore()).rejects.toMatchObject({ code: 'store_damaged' });
    await rm(path);
    await expect(restore()).rejects.toMatchObject({ code: 'store_incomplete' });
    expect(await readFile(join(s.there, 'old'), 'utf8')).toBe('still here');
    expect(await readdir(join(s.there, '..'))).toEqual([SESSION]);
    await writeFile(path, good);
    await restore();
  });

  it('a file that never stands still is taken and told; a socket is told; neither stops the rest', async () => {
    const s = await scene();
    await s.put('calm.txt', 'calm');
    const restless = join(s.here, 'workspace/restless.log');
    // Long enough to be read that something is always written meanwhile.
    await writeFile(restless, randomBytes(12_000_000));
    const server = createServer().listen(join(s.here, 'workspace/a.sock'));
    let writing = true;
    const writer = (async () => {
      while (writing) await writeFile(restless, randomBytes(64), { flag: 'a' });
    })();
    const saved = await s.save().finally(() => {
      writing = false;
    });
    await writer;
    server.close();
    expect(saved.restless).toEqual(['workspace/restless.log']);
    expect(saved.unstorable).toEqual(['workspace/a.sock']);
    await s.store.restore({ sessionId: SESSION, root: s.there }, saved.manifest);
    expect(await readFile(join(s.there, 'workspace/calm.txt'), 'utf8')).toBe('calm');
    const { size } = await lstat(join(s.there, 'workspace/restless.log'));
    expect(size).toBeGreaterThanOrEqual(12_000_000);
  });

  it('a folder whose mount went away is not taken for the store', async () => {
    const s = await scene();
    await s.put('a.txt', 'x');
    await rename(s.storeDir, `${s.storeDir}.away`);
    await mkdir(s.storeDir);
    await expect(s.save()).rejects.toThrow(/is not the one that this host started with/);
    expect(await readdir(s.storeDir)).toEqual([]);
  });

  it('a save that is called off puts no list', async () => {
    const s = await scene();
    await s.put('a.txt', 'x');
    await expect(s.save(1, s.here, AbortSignal.abort())).rejects.toThrow();
    expect(await objects(s.storeDir)).toEqual([]);
  });
});
