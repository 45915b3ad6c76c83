// The supervisor's promises, on real processes: one owner, one way to end, nothing left behind.

import { mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRunDir } from '@engram/host-agent';
import { type Engram, spawnUp, startEngram, waitFor } from '@engram/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let folder = '';
let engram: Engram | undefined;
beforeEach(async () => {
  // A folder that nobody else may enter above the data folder, and a space in the path.
  folder = await realpath(await mkdtemp(join(tmpdir(), 'engram life-')));
});
afterEach(async () => {
  await engram?.killAll();
  engram = undefined;
  const dataDir = join(folder, 'data');
  await rm(await openRunDir(dataDir), { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<Engram> {
  const dataDir = join(folder, 'data');
  const { mkdir } = await import('node:fs/promises');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  engram = await startEngram({ dataDir });
  return engram;
}

const gone = (of: Engram, ms: number): Promise<boolean> =>
  waitFor(() => of.processTable().length === 0, ms, `an empty process table, not ${JSON.stringify(of.processTable())}`);

describe('engram up', () => {
  it('is ready with server, host and database running, and a token only its user can read', async () => {
    const up = await start();
    expect((await fetch(`${up.url}/readyz`)).status).toBe(200);
    expect((await stat(join(up.dataDir, 'token'))).mode & 0o777).toBe(0o600);
    expect((await stat(up.dataDir)).mode & 0o777).toBe(0o700);
    expect((await up.api.listSessions()).sessions).toEqual([]);
    const kinds = new Set(up.processTable().map(({ kind }) => kind));
    for (const kind of ['up', 'serve', 'host', 'postgres'] as const) expect(kinds).toContain(kind);
    expect(JSON.parse(await readFile(join(up.dataDir, 'server.json'), 'utf8'))).toMatchObject({ url: up.url });
  });

  it('ends on SIGTERM with exit code 0, within 15 s, and leaves no process', async () => {
    const up = await start();
    const asked = Date.now();
    expect(await up.stop()).toEqual({ code: 0, signal: undefined });
    expect(Date.now() - asked).toBeLessThan(15_000);
    await gone(up, 500);
  });

  it('refuses a second start on the same data folder within 5 s, naming pid and URL', async () => {
    const up = await start();
    const asked = Date.now();
    const second = spawnUp(up.dataDir);
    let words = '';
    second.stderr.on('data', (chunk) => {
      words += String(chunk);
    });
    const code = await new Promise((resolve) => second.on('close', resolve));
    expect(Date.now() - asked).toBeLessThan(5_000);
    expect(code).toBe(1);
    expect(words).toContain(`process ${up.pids.up}`);
    expect(words).toContain(up.url);
    expect((await fetch(`${up.url}/readyz`)).status).toBe(200);
  });

  it.each(['serve', 'host', 'postgres'] as const)(
    'ends with exit code ≠ 0 when %s is killed, and leaves no process',
    async (part) => {
      const up = await start();
      process.kill(up.pids[part] ?? 0, 'SIGKILL');
      const exit = await up.exited;
      expect(exit.code).toBe(1);
      expect(up.stderr()).toContain(part === 'postgres' ? 'PostgreSQL' : `engram ${part}`);
      await gone(up, 2_000);
    },
  );

  it('takes its children along when it is killed itself, and starts again at once', async () => {
    const up = await start();
    process.kill(up.pids.up, 'SIGKILL');
    await up.exited;
    await waitFor(
      () => up.processTable().every(({ kind }) => kind === 'postgres'),
      12_000,
      'only PostgreSQL to be left',
    );
    const again = await start();
    expect((await again.api.listSessions()).sessions).toEqual([]);
    expect(again.token).toBe(up.token);
    expect(await again.stop()).toMatchObject({ code: 0 });
    await gone(up, 1_000);
  });

  it('starts again at once after everything was killed', async () => {
    const up = await start();
    await up.killAll();
    const again = await start();
    expect((await fetch(`${again.url}/readyz`)).status).toBe(200);
    await again.stop();
    await gone(again, 1_000);
  });
});
