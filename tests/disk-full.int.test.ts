// The disk of the database is full: what is asked is refused with words and a time to come back, what was
// accepted stays, and work goes on by itself when there is room again. The disk is a small one of the test's
// own, in a mount namespace: see soak/disk-full.mjs.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { cleanEnvironment, repositoryRoot } from '@engram/testkit';
import { expect, it } from 'vitest';

const NO_SMALL_DISK = 77;

it('refuses in words while the disk is full, goes on by itself afterwards, and loses nothing', async (context) => {
  const child = spawn(process.execPath, [join(repositoryRoot, 'soak/disk-full.mjs')], { env: cleanEnvironment() });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  // Linux with user namespaces or as root; elsewhere there is no disk to fill without harm.
  if (code === NO_SMALL_DISK) context.skip('no small disk can be made here');
  expect([code, err]).toEqual([0, '']);
  const told = JSON.parse(out);
  expect(told).toMatchObject({
    refused: { status: 503, code: 'unavailable', detail: expect.stringContaining('disk of the database is full') },
    other_statuses: [],
    read_while_full: 200,
    alive_while_full: 200,
    ready_again: true,
    start_on_full_disk: { code: 'disk_full', message: expect.stringContaining('Free some space') },
    lost: 0,
    doubled: 0,
    gaps: 0,
  });
  expect(told.refused.retry_after).toBeGreaterThan(0);
  expect(told.recovered_ms).toBeLessThan(10_000);
  expect(told.accepted).toBeGreaterThan(5);
});
