// What must be refused at once: one clear error with the next step, exit code ≠ 0, within 5 s, and
// nothing started.

import { chmod, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readProcessTable, spawnUp } from '@engram/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const LIMIT_MS = 5_000;
let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'engram-refused-')));
});
afterEach(async () => {
  expect(readProcessTable(folder)).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

interface Refusal {
  readonly code: number | null;
  readonly error: string;
  readonly message: string;
}

async function refusedStart(
  options: Parameters<typeof spawnUp>[1] = {},
  dataDir = join(folder, 'data'),
): Promise<Refusal> {
  const started = Date.now();
  const child = spawnUp(dataDir, options);
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    err += String(chunk);
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  expect(Date.now() - started).toBeLessThan(LIMIT_MS);
  expect(out).toBe('');
  const [line, ...more] = err.trim().split('\n');
  expect(more).toEqual([]);
  const { error } = JSON.parse(line ?? '');
  return { code, error: error.code, message: error.message };
}

describe('engram up refuses', () => {
  it('a port that another program has, and names a free one to try', async () => {
    const other = createServer();
    const port = await new Promise<number>((resolve) => {
      other.listen(0, '127.0.0.1', () => {
        const address = other.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
    const refusal = await refusedStart({ port });
    other.close();
    expect(refusal).toMatchObject({ code: 1, error: 'port_taken' });
    expect(refusal.message).toContain(`Port ${port}`);
    expect(refusal.message).toContain(`--port ${port + 1}`);
  });

  it('an ENGRAM_CLAUDE_BIN that is missing', async () => {
    const refusal = await refusedStart({ env: { ENGRAM_CLAUDE_BIN: join(folder, 'nowhere/claude') } });
    expect(refusal).toMatchObject({ code: 1, error: 'claude_unusable' });
    expect(refusal.message).toContain('there is no such file');
    expect(refusal.message).toContain('Next step');
  });

  it.each([
    ['may not be executed', '#!/bin/sh\n', 0o644],
    ['ended with exit code 3', '#!/bin/sh\nexit 3\n', 0o755],
    ['does not print a version', '#!/bin/sh\necho hello\n', 0o755],
    ['gave no answer', '#!/bin/sh\nexec sleep 60\n', 0o755],
    ['cannot be run', '#!/nowhere/at/all\n', 0o755],
  ])('an ENGRAM_CLAUDE_BIN that %s', async (why, content, mode) => {
    const bin = join(folder, 'claude');
    await writeFile(bin, content);
    await chmod(bin, mode);
    const refusal = await refusedStart({ env: { ENGRAM_CLAUDE_BIN: bin } });
    expect(refusal).toMatchObject({ code: 1, error: 'claude_unusable' });
    expect(refusal.message).toContain(why);
  });

  it('a data folder without write permission', async () => {
    const dataDir = join(folder, 'data');
    await mkdir(dataDir, { mode: 0o555 });
    const refusal = await refusedStart({}, dataDir);
    expect(refusal).toMatchObject({ code: 1, error: 'data_folder' });
    expect(refusal.message).toContain(dataDir);
    expect(refusal.message).toContain('--data-dir');
    expect(await readdir(dataDir)).toEqual([]);
  });

  it('a data folder that cannot be made, and one that is a file', async () => {
    await writeFile(join(folder, 'file'), '');
    expect(await refusedStart({}, join(folder, 'file/data'))).toMatchObject({ code: 1, error: 'data_folder' });
    expect(await refusedStart({}, join(folder, 'file'))).toMatchObject({ code: 1, error: 'data_folder' });
  });

  it('a folder full of something else, and leaves it alone', async () => {
    await writeFile(join(folder, 'thesis.txt'), 'mine');
    expect(await refusedStart({}, folder)).toMatchObject({ code: 1, error: 'data_folder' });
    expect(await readdir(folder)).toEqual(['thesis.txt']);
  });

  it('a configuration with problems, naming all of them', async () => {
    const refusal = await refusedStart({ env: { ENGRAM_IDLE_MS: 'soon', ENGRAM_SLOTS: '0' } });
    expect(refusal).toMatchObject({ code: 1, error: 'bad_config' });
    expect(refusal.message).toContain('ENGRAM_IDLE_MS');
    expect(refusal.message).toContain('ENGRAM_SLOTS');
  });
});
