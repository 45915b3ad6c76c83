// `engram db` as a person uses it: a backup of a running Engram becomes a new data folder, a data folder
// becomes a server's database, and each refusal leaves everything as it was.

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRunDir } from '@engram/host-agent';
import { cleanEnvironment, type Engram, repositoryRoot, startEngram, startTestPostgres } from '@engram/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder = '';
let engram: Engram;
let sessions: readonly string[] = [];

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'engram db-')));
  engram = await startIn('old');
  for (const title of ['first', 'ünïcode 🦊 \\.']) {
    await engram.api.createSession({ title, workspace: { kind: 'empty' } });
  }
  sessions = await titles(engram);
});
afterAll(async () => {
  await engram.killAll();
  for (const name of ['old', 'new', 'fresh', 'never']) {
    await rm(await openRunDir(join(folder, name)).catch(() => join(folder, name)), { recursive: true, force: true });
  }
  await rm(folder, { recursive: true, force: true });
});

async function startIn(name: string, env: Readonly<Record<string, string>> = {}): Promise<Engram> {
  const dataDir = join(folder, name);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  return startEngram({ dataDir, env });
}

async function titles(of: Engram): Promise<readonly string[]> {
  return (await of.api.listSessions()).sessions.map((session) => session.title).sort();
}

interface Ran {
  readonly code: number | null;
  /** What --json printed, on whichever stream. */
  readonly said: Record<string, unknown>;
}

async function db(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const main = join(repositoryRoot, 'packages/cli/dist/main.js');
  const child = spawn(process.execPath, [main, 'db', ...args, '--json'], { cwd: folder, env: cleanEnvironment(env) });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  const text = code === 0 ? out : (err.trim().split('\n').at(-1) ?? '');
  const value: unknown = JSON.parse(text);
  const said = typeof value === 'object' && value !== null ? value : {};
  return { code, said: 'error' in said && typeof said.error === 'object' ? { ...said.error } : { ...said } };
}

const file = (name: string): string => join(folder, name);
const inFolder = (name: string): readonly string[] => ['--data-dir', join(folder, name)];
const there = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Many programs one after another: on a busy machine each takes seconds to start. */
describe('engram db', { timeout: 180_000 }, () => {
  it('backs up a running Engram, refuses to restore over it or to move it', async () => {
    const done = await db(['backup', file('running.backup'), ...inFolder('old')]);
    expect(done).toMatchObject({ code: 0, said: { type: 'backup', while_running: true, rows: { sessions: 2 } } });
    expect(done.said.not_included).toEqual(expect.arrayContaining([expect.stringContaining('sessions/')]));
    expect((await stat(file('running.backup'))).mode & 0o777).toBe(0o600);
    expect(await db(['backup', file('running.backup'), ...inFolder('old')])).toMatchObject({
      code: 1,
      said: { code: 'backup_file', message: expect.stringContaining('exists already') },
    });
    for (const args of [
      ['restore', file('running.backup')],
      ['move', 'postgres://nobody@127.0.0.1:1/x'],
    ]) {
      const refused = await db([...args, ...inFolder('old')]);
      expect(refused).toMatchObject({ code: 1, said: { code: 'already_running' } });
      expect(refused.said.message).toContain(`process ${engram.pids.up}`);
    }
    expect(await db(['backup', file('nowhere/x.backup'), ...inFolder('old')])).toMatchObject({
      code: 1,
      said: { code: 'backup_file', message: expect.stringContaining('ENOENT') },
    });
    expect(await titles(engram)).toEqual(sessions);
  });

  it('backs up a stopped one alike, and makes a new data folder of the file', async () => {
    await engram.stop();
    const done = await db(['backup', file('stopped.backup'), ...inFolder('old')]);
    expect(done).toMatchObject({ code: 0, said: { while_running: false, rows: { sessions: 2 } } });
    expect(await db(['restore', file('stopped.backup'), ...inFolder('old')])).toMatchObject({
      code: 1,
      said: { code: 'database_not_empty' },
    });

    const whole = await readFile(file('stopped.backup'));
    await writeFile(file('torn.backup'), whole.subarray(0, whole.length - 20));
    await writeFile(file('other.backup'), 'hello');
    const torn = await db(['restore', file('torn.backup'), ...inFolder('new')]);
    expect(torn).toMatchObject({ code: 1, said: { code: 'backup_damaged', message: expect.stringContaining('torn') } });
    expect(await db(['restore', file('other.backup'), ...inFolder('new')])).toMatchObject({
      said: { code: 'backup_damaged' },
    });
    expect(await db(['restore', file('missing.backup'), ...inFolder('new')])).toMatchObject({
      said: { code: 'backup_file' },
    });

    expect(await db(['restore', file('running.backup'), ...inFolder('new')])).toMatchObject({
      code: 0,
      said: { type: 'restored', rows: { sessions: 2 } },
    });
    const again = await startIn('new');
    expect(await titles(again)).toEqual(sessions);
    // Tokens of the old database stay valid beside the new folder's own.
    const withOldToken = await fetch(`${again.url}/api/v1/sessions`, {
      headers: { authorization: `Bearer ${engram.token}` },
    });
    expect(withOldToken.status).toBe(200);
    await again.stop();
  });

  it('moves a data folder’s database to a server, and nothing starts on the old one by mistake', async () => {
    const server = await startTestPostgres();
    const { host, user, password, database } = server.connection;
    const url = `postgres://${user}:${password}@/${database}?host=${encodeURIComponent(host)}`;
    try {
      const wrong = await db(['move', url.replace(password, 'wrong'), ...inFolder('old')]);
      expect(wrong).toMatchObject({ code: 1, said: { code: 'unavailable' } });
      expect(wrong.said.message).toContain('the password is not right');
      expect(wrong.said.message).not.toContain('wrong@');
      expect(await db(['move', ...inFolder('old')])).toMatchObject({ code: 1, said: { code: 'bad_config' } });
      expect(await db(['move', url, ...inFolder('never')])).toMatchObject({ code: 1, said: { code: 'not_running' } });
      expect(await there(join(folder, 'never'))).toBe(false);

      const moved = await db(['move', ...inFolder('old')], { DATABASE_URL: url });
      expect(moved).toMatchObject({ code: 0, said: { type: 'moved', rows: { sessions: 2 } } });
      expect(JSON.stringify(moved.said)).not.toContain(password);
      for (const refused of [
        await db(['backup', file('late.backup'), ...inFolder('old')]),
        await db(['move', url, ...inFolder('old')]),
      ]) {
        expect(refused).toMatchObject({ code: 1, said: { code: 'database_moved' } });
      }
      await expect(startIn('old')).rejects.toThrow(/database_moved/);
      const on = await startIn('old', { DATABASE_URL: url });
      expect(await titles(on)).toEqual(sessions);
      expect(on.pids.postgres).toBeUndefined();
      expect(await db(['restore', file('stopped.backup')], { DATABASE_URL: url })).toMatchObject({
        code: 1,
        said: { code: 'database_in_use' },
      });
      // A backup of a server, and of the folder whose Engram uses one.
      expect(await db(['backup', file('server.backup')], { DATABASE_URL: url })).toMatchObject({ code: 0 });
      expect(await db(['backup', file('late.backup'), ...inFolder('old')])).toMatchObject({
        said: { code: 'bad_config' },
      });
      await on.stop();
    } finally {
      await server.stop();
    }
  });
});
