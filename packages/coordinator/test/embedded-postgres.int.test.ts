// The embedded PostgreSQL with its real binaries: first and second start, crash, orphans, modes.

import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile, rename, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CoordinatorError, type EmbeddedPostgres, startEmbeddedPostgres } from '../src/index.js';
import { makeTempFolder } from './temp-folders.js';

const log = pino({ level: 'silent' });
let root: Awaited<ReturnType<typeof makeTempFolder>>;
let dataDir: string;
let runDir: string;
const running = new Set<EmbeddedPostgres>();

beforeEach(async () => {
  root = await makeTempFolder();
  dataDir = join(root.path, 'data');
  runDir = join(root.path, 'run');
  await mkdir(dataDir, { mode: 0o700 });
  await mkdir(runDir, { mode: 0o700 });
});

afterEach(async () => {
  for (const postgres of running) await postgres.stop();
  running.clear();
  await root.remove();
});

async function start(more: { refuseNamespace?: boolean } = {}): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, runDir, log, ...more });
  running.add(postgres);
  return postgres;
}

async function query(postgres: EmbeddedPostgres, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client(postgres.connectionConfig);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The binaries lie in this checkout, which may itself be below a folder that only its owner enters. */
async function closedFolderAbove(path: string): Promise<string | undefined> {
  let folder = '';
  for (const part of path.split('/').slice(1)) {
    folder = `${folder}/${part}`;
    if (((await stat(folder)).mode & 0o001) === 0) return folder;
  }
  return undefined;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof CoordinatorError) return error.code;
    throw error;
  }
  return 'no error';
}

describe('embedded PostgreSQL', () => {
  it('makes a cluster, serves an ordinary role on a unix socket alone, and opens again quickly', async () => {
    const first = await start();
    const [facts] = await query(
      first,
      `select current_user as who, rolsuper, current_setting('listen_addresses') as listens,
              current_setting('fsync') as fsync, current_setting('data_checksums') as checksums
       from pg_roles where rolname = current_user`,
    );
    expect(facts).toEqual({ who: 'engram', rolsuper: false, listens: '', fsync: 'on', checksums: 'on' });
    await query(first, 'create table kept (n int); insert into kept values (7)');
    await first.stop();
    expect(await first.exited).toEqual({ code: 0, signal: null });

    const before = Date.now();
    const second = await start();
    const warmMs = Date.now() - before;
    expect(await query(second, 'select n from kept')).toEqual([{ n: 7 }]);
    expect(warmMs).toBeLessThan(3_000);
    expect((await stat(join(dataDir, 'pg-password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(dataDir, 'pg-superuser-password'))).mode & 0o777).toBe(0o600);
  });

  it('runs in a process group of its own', async () => {
    const postgres = await start();
    const fields = (await readFile(`/proc/${postgres.pid}/stat`, 'utf8')).split(') ')[1]?.split(' ');
    expect(Number(fields?.[2])).toBe(postgres.pid);
  });

  it('starts again after its postmaster was killed, with everything committed still there', async () => {
    const first = await start();
    await query(first, 'create table kept (n int); insert into kept values (1), (2)');
    process.kill(first.pid, 'SIGKILL');
    const second = await start();
    expect(await query(second, 'select count(*)::int as n from kept')).toEqual([{ n: 2 }]);
    expect((await first.exited).signal).toBe('SIGKILL');
  });

  it('ends the living PostgreSQL that a killed owner left behind, then starts its own', async () => {
    const orphan = await start();
    await query(orphan, 'create table kept (n int); insert into kept values (3)');
    const client = new Client(orphan.connectionConfig);
    client.on('error', () => undefined);
    await client.connect();
    const second = await start();
    expect(second.pid).not.toBe(orphan.pid);
    expect(await query(second, 'select n from kept')).toEqual([{ n: 3 }]);
    expect(await orphan.exited).toEqual({ code: 0, signal: null });
    await client.end().catch(() => undefined);
  });

  it('leaves a stranger alone whose pid stands in a stale pid file', async () => {
    const first = await start();
    await first.stop();
    const stranger = spawn('sleep', ['60'], { stdio: 'ignore' });
    await writeFile(join(dataDir, 'pg', 'postmaster.pid'), `${stranger.pid}\n${join(dataDir, 'pg')}\n1000\n5432\n\n\n`);
    const second = await start();
    expect(await query(second, 'select 1 as n')).toEqual([{ n: 1 }]);
    expect(stranger.exitCode).toBeNull();
    stranger.kill('SIGKILL');
  });

  it('finishes a first start that was cut off between cluster and role', async () => {
    await mkdir(join(dataDir, 'pg.making'), { recursive: true });
    const first = await start();
    await first.stop();
    await writeFile(join(dataDir, 'pg-password'), 'a-new-password', { mode: 0o600 });
    const second = await start();
    expect(second.connectionConfig.password).toBe('a-new-password');
    expect(await query(second, 'select 1 as n')).toEqual([{ n: 1 }]);
  });

  it('names damage, a lost password and a foreign folder by code', async () => {
    const first = await start();
    await first.stop();
    await truncate(join(dataDir, 'pg', 'global', 'pg_control'), 0);
    expect(await codeOf(start())).toBe('cluster_damaged');
    await rename(join(dataDir, 'pg-superuser-password'), join(dataDir, 'elsewhere'));
    expect(await codeOf(start())).toBe('password_lost');
    await rename(join(dataDir, 'pg'), join(dataDir, 'pg-old'));
    await mkdir(join(dataDir, 'pg'));
    expect(await codeOf(start())).toBe('cluster_damaged');
  });

  it('says that a data folder cannot be used and that a socket path is too long', async () => {
    await writeFile(join(root.path, 'file'), '');
    expect(await codeOf(startEmbeddedPostgres({ dataDir: join(root.path, 'file'), runDir, log }))).toBe(
      'no_permission',
    );
    const deep = join(root.path, 'x'.repeat(90));
    await mkdir(deep);
    expect(await codeOf(startEmbeddedPostgres({ dataDir, runDir: deep, log }))).toBe('socket_path_too_long');
  });

  it('writes no statement and no value into its log', async () => {
    const postgres = await start();
    await query(postgres, 'create table one (n int primary key); insert into one values (4242)');
    await query(postgres, 'insert into one values (4242)').catch(() => undefined);
    await delay(50);
    const text = await readFile(join(dataDir, 'logs', 'postgres.log'), 'utf8');
    expect(text).toContain('duplicate key');
    expect(text).not.toContain('4242');
  });
});

describe.runIf(process.getuid?.() === 0)('as root', () => {
  it('works below a folder that nobody else may enter', async () => {
    await chmod(root.path, 0o700);
    const postgres = await start();
    expect((await stat(join(dataDir, 'pg', 'PG_VERSION'))).uid).toBe(0);
    expect(await query(postgres, 'select 1 as n')).toEqual([{ n: 1 }]);
  });

  it('names the first folder that the account cannot enter where namespaces are refused', async () => {
    await chmod(root.path, 0o700);
    const closed = (await closedFolderAbove(import.meta.dirname)) ?? root.path;
    await expect(start({ refuseNamespace: true })).rejects.toThrow(`cannot enter ${closed}.`);
  });

  it('runs as an existing account when namespaces are refused and every folder is open to it', async () => {
    await chmod(root.path, 0o755);
    await chmod(dataDir, 0o711);
    const closed = await closedFolderAbove(import.meta.dirname);
    if (closed !== undefined) {
      await expect(start({ refuseNamespace: true })).rejects.toThrow(`cannot enter ${closed}.`);
      return;
    }
    const first = await start({ refuseNamespace: true });
    expect((await stat(join(dataDir, 'pg', 'PG_VERSION'))).uid).not.toBe(0);
    expect(await query(first, 'select 1 as n')).toEqual([{ n: 1 }]);
    await first.stop();
    const second = await start({ refuseNamespace: true });
    expect(await query(second, 'select 1 as n')).toEqual([{ n: 1 }]);
  });
});
