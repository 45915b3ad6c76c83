import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@engram/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findOwner, takeOwnerLock } from '../src/owner-lock.js';

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'engram-lock-')));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the owner lock', () => {
  it('is held by one, who tells the other its pid and URL', async () => {
    const first = await takeOwnerLock(folder);
    if (!('lock' in first)) throw new Error('the folder is new');
    first.lock.setUrl('http://127.0.0.1:1');
    expect(await takeOwnerLock(folder)).toEqual({ owner: { pid: process.pid, url: 'http://127.0.0.1:1' } });
    await first.lock.release();
    expect(await findOwner(folder)).toBeUndefined();
  });

  it('goes to exactly one of many who ask at the same time', async () => {
    const results = await Promise.all(Array.from({ length: 12 }, () => takeOwnerLock(folder)));
    const locks = results.flatMap((result) => ('lock' in result ? [result.lock] : []));
    expect(locks).toHaveLength(1);
    await Promise.all(locks.map((lock) => lock.release()));
  });

  it('is free as soon as its holder is killed', async () => {
    const module = new URL('../dist/owner-lock.js', import.meta.url).href;
    const script = `import(${JSON.stringify(module)}).then(async (m) => { await m.takeOwnerLock(${JSON.stringify(folder)}); console.log('held'); setInterval(() => {}, 1000); })`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    expect(await findOwner(folder)).toEqual({ pid: child.pid });
    child.kill('SIGKILL');
    await once(child, 'close');
    const lock = await waitFor(async () => {
      const result = await takeOwnerLock(folder);
      return 'lock' in result ? result.lock : undefined;
    }, 2_000);
    await lock.release();
  });
});
