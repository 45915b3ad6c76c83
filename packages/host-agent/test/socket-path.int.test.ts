// Case HOOK-11: unix socket paths longer than the kernel takes, and what a crash leaves behind.
import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  checkSocketPath,
  openPrivateDir,
  openRunDir,
  openSessionSockets,
  SOCKET_PATH_MAX_BYTES,
} from '../src/socket-path.js';

const SESSION = '0b6c1f5e-8f0c-4a6e-9a61-6f1f3e7a2b11';
let base: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'eg-sock-'));
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('the run folder', () => {
  it('is short, private, and the same for the same data folder reached by a link', async () => {
    const dataDir = join(base, 'x'.repeat(200));
    await mkdir(dataDir);
    await symlink(dataDir, join(base, 'link'));
    const runDir = await openRunDir(dataDir, base);
    expect(await openRunDir(join(base, 'link'), base)).toBe(runDir);
    expect((await stat(runDir)).mode & 0o777).toBe(0o700);
    const sockets = await openSessionSockets(runDir, SESSION);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(sockets.attach, resolve));
    await new Promise((resolve) => server.close(resolve));
  });

  it('refuses a path the kernel would not take, naming path and limit', async () => {
    expect(() => checkSocketPath(`/${'x'.repeat(SOCKET_PATH_MAX_BYTES - 1)}`)).not.toThrow();
    const long = `/${'é'.repeat(60)}`;
    expect(() => checkSocketPath(long)).toThrow(new RegExp(`${long}.*121 bytes.*${SOCKET_PATH_MAX_BYTES}`));
    const deep = join(base, 'y'.repeat(120));
    await mkdir(deep);
    await expect(openSessionSockets(deep, SESSION)).rejects.toMatchObject({ code: 'socket_path_too_long' });
  });

  it('closes a folder that others could enter, and refuses a file or a link in its place', async () => {
    const open = join(base, 'open');
    await mkdir(open, { mode: 0o755 });
    await chmod(open, 0o777);
    await openPrivateDir(open);
    expect((await stat(open)).mode & 0o777).toBe(0o700);
    await writeFile(join(base, 'file'), '');
    await expect(openPrivateDir(join(base, 'file'))).rejects.toMatchObject({ code: 'run_dir_unusable' });
    await symlink(open, join(base, 'link'));
    await expect(openPrivateDir(join(base, 'link'))).rejects.toMatchObject({ code: 'run_dir_unusable' });
  });

  it.runIf(process.getuid?.() === 0)('refuses a folder of another user', async () => {
    const { chown } = await import('node:fs/promises');
    const theirs = join(base, 'theirs');
    await mkdir(theirs);
    await chown(theirs, 12_345, 12_345);
    await expect(openPrivateDir(theirs)).rejects.toMatchObject({ code: 'run_dir_unusable' });
  });

  it('removes the sockets of a crash before it binds again', async () => {
    const first = await openSessionSockets(base, SESSION);
    await writeFile(first.attach, 'stale');
    const again = await openSessionSockets(base, SESSION);
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(again.attach, resolve);
    });
    await new Promise((resolve) => server.close(resolve));
  });
});
