// What PostgreSQL says when it gives up, as a code and a next step.

import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toStartFailure } from '../src/embedded/start-failure.js';
import { firstClosedFolder } from '../src/embedded/unprivileged-launch.js';

describe('toStartFailure', () => {
  it.each([
    ['disk_full', 'FATAL:  could not write lock file "postmaster.pid": No space left on device'],
    ['disk_full', 'initdb: error: could not write to file "x": No space left on device'],
    ['cluster_in_use', 'FATAL:  lock file "postmaster.pid" already exists'],
    ['cluster_in_use', 'FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use'],
    ['cluster_version', 'FATAL:  database files are incompatible with server'],
    ['no_permission', 'FATAL:  data directory "/x" has invalid permissions'],
    ['no_permission', 'FATAL:  could not open file "/x/global/pg_control": Permission denied'],
    ['cluster_damaged', 'PANIC:  could not locate a valid checkpoint record at 0/1'],
    ['cluster_damaged', 'FATAL:  could not open file "/x/global/pg_control": No such file or directory'],
    ['start_failed', 'something else'],
    ['start_failed', ''],
  ])('says %s for its words', (code, output) => {
    const error = toStartFailure(
      'start on',
      '/data/pg',
      `LOG:  starting\n${output}\nLOG:  database system is shut down`,
    );
    expect(error.code).toBe(code);
    expect(error.message).toContain('/data/pg');
  });
});

describe('firstClosedFolder', () => {
  it('names the outermost folder that an account cannot enter', async () => {
    const root = await mkdtemp(join(tmpdir(), 'egt-'));
    const deep = join(root, 'a', 'b');
    await mkdir(deep, { recursive: true });
    const stranger = { name: 'x', uid: 60_123, gid: 60_123 };
    await chmod(root, 0o755);
    expect(await firstClosedFolder(deep, stranger)).toBeUndefined();
    await chmod(join(root, 'a', 'b'), 0o700);
    expect(await firstClosedFolder(deep, stranger)).toBe(deep);
    await chmod(join(root, 'a'), 0o700);
    expect(await firstClosedFolder(deep, stranger)).toBe(join(root, 'a'));
    await rm(root, { recursive: true });
  });
});
