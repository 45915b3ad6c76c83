// `engram serve` and `engram host` alone on one database, as on two machines: the whole story, a database
// that comes late or goes away, and every way it may refuse them.

import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRunDir } from '@engram/host-agent';
import {
  claudeBinary,
  claudeVersions,
  cleanEnvironment,
  type Part,
  repositoryRoot,
  spawnPart,
  startTestPostgres,
  type TestPostgres,
  toDatabaseUrl,
  waitFor,
} from '@engram/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createApiClient } from '../src/api-client.js';

const TOKEN = 'a-token-that-all-servers-share-0123456789';
let postgres: TestPostgres;
let folder = '';
const parts: Part[] = [];

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'engram-parts-')));
  postgres = await startTestPostgres();
});
afterEach(async () => {
  for (const part of parts.splice(0)) {
    part.kill('SIGKILL');
    await part.exited;
  }
});
afterAll(async () => {
  await postgres.stop();
  for (const name of ['server', 'host'])
    await rm(await openRunDir(join(folder, name)), { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

async function start(
  part: 'serve' | 'host',
  databaseUrl = toDatabaseUrl(postgres.connection),
  env: Readonly<Record<string, string>> = {},
): Promise<Part> {
  const dataDir = join(folder, part === 'serve' ? 'server' : 'host');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const started = spawnPart({
    part,
    databaseUrl,
    dataDir,
    args: part === 'serve' ? ['--port', '0'] : [],
    env: { ENGRAM_API_TOKEN: TOKEN, ENGRAM_CLAUDE_BIN: claudeBinary(claudeVersions().at(-1) ?? ''), ...env },
  });
  parts.push(started);
  return started;
}

/** PostgreSQL on a loopback port that can be closed, as when a network or a server goes away. */
async function openGate(port = 0): Promise<{ port: number; close(): Promise<void> }> {
  const open = new Set<Socket>();
  const server: Server = createServer((socket) => {
    const inner = connect(join(postgres.connection.host, '.s.PGSQL.5432'));
    for (const end of [socket, inner]) {
      open.add(end);
      end.on('error', () => undefined).on('close', () => open.delete(end));
    }
    socket.pipe(inner).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

async function status(url: string, path: string): Promise<number> {
  const reply = await fetch(`${url}${path}`);
  await reply.arrayBuffer();
  return reply.status;
}

describe('a server and a host by themselves', () => {
  it('share nothing but the database, tell the whole story, and end on SIGTERM with exit code 0', async () => {
    const [server, host] = [
      await start('serve', undefined, { ENGRAM_PUBLIC_URL: 'https://engram.example' }),
      await start('host'),
    ];
    const { url } = await server.ready;
    expect(await host.ready).toMatchObject({ type: 'hosting', isolation: 'process' });
    const api = createApiClient({ url: String(url), token: TOKEN });
    expect((await api.createLoginLink()).url).toMatch(/^https:\/\/engram\.example\/\?token=/);
    const { id } = await api.createSession({
      prompt: 'Show me the demo',
      model: 'engram-demo',
      workspace: { kind: 'empty' },
    });
    const seen: string[] = [];
    for await (const event of api.stream(id, { signal: AbortSignal.timeout(60_000) })) {
      seen.push(event.type);
      if (event.type === 'harness_idle' && !seen.includes('question_answered')) {
        const [waiting] = (await api.getSession(id)).awaiting;
        const answers = Object.fromEntries(
          (waiting?.questions ?? []).map(({ question, options }) => [question, [options[0]?.label ?? '']]),
        );
        await api.answer(id, waiting?.tool_call_id ?? '', answers);
      }
      if (event.type === 'run_completed' && seen.includes('question_answered')) break;
    }
    expect(seen).toContain('question_answered');
    const probe = spawnSync(process.execPath, [join(repositoryRoot, 'packages/cli/dist/main.js'), 'alive', '--json'], {
      env: cleanEnvironment({ ENGRAM_DATA_DIR: join(folder, 'host') }),
    });
    expect([probe.status, JSON.parse(String(probe.stdout))]).toEqual([0, { type: 'alive', pid: host.pid }]);
    // A client command in the server's container or pod finds it.
    const link = spawnSync(
      process.execPath,
      [join(repositoryRoot, 'packages/cli/dist/main.js'), 'open', '--no-browser'],
      {
        env: cleanEnvironment({ ENGRAM_DATA_DIR: join(folder, 'server') }),
      },
    );
    expect(String(link.stdout)).toMatch(/https:\/\/engram\.example\/\?token=/);
    const second = await start('host');
    expect(await second.exited).toMatchObject({ code: 1 });
    expect(second.stderr()).toContain(`process ${host.pid}`);
    for (const part of [host, server]) {
      part.kill('SIGTERM');
      expect(await part.exited).toEqual({ code: 0, signal: undefined });
    }
  });

  it('wait for a database that comes late, and live through one that goes away', async () => {
    const reserved = await openGate();
    await reserved.close();
    const url = toDatabaseUrl(postgres.connection, reserved.port);
    const [server, host] = [await start('serve', url), await start('host', url)];
    for (const part of [server, host]) {
      await waitFor(() => part.stderr().includes('Trying on'), 60_000, `a note, not ${part.stderr()}`);
      expect(part.stderr()).toContain('nothing listens there');
    }
    let gate = await openGate(reserved.port);
    const serving = String((await server.ready).url);
    await host.ready;
    expect(await status(serving, '/readyz')).toBe(200);
    await gate.close();
    await waitFor(async () => (await status(serving, '/readyz')) === 503, 30_000, 'not ready');
    expect(await status(serving, '/healthz')).toBe(200);
    gate = await openGate(reserved.port);
    await waitFor(async () => (await status(serving, '/readyz')) === 200, 30_000, 'ready again');
    const api = createApiClient({ url: serving, token: TOKEN });
    const { id } = await api.createSession({
      prompt: 'Show me the demo',
      model: 'engram-demo',
      workspace: { kind: 'empty' },
    });
    await waitFor(async () => (await api.getSession(id)).awaiting.length > 0, 60_000, 'a question');
    for (const part of [host, server]) {
      part.kill('SIGTERM');
      expect(await part.exited).toMatchObject({ code: 0 });
    }
    await gate.close();
  });
});

describe('a start on a database that refuses', () => {
  const atOnce = { ENGRAM_DATABASE_WAIT_MS: '0' };
  const own = (): string => toDatabaseUrl(postgres.connection);

  async function refused(
    part: 'serve' | 'host',
    url: string,
    env = atOnce,
  ): Promise<{ code: string; message: string }> {
    const started = await start(part, url, env);
    expect((await started.exited).code).toBe(1);
    const { error } = JSON.parse(started.stderr().trim().split('\n').at(-1) ?? '');
    expect(error.message).not.toContain(postgres.connection.password);
    return error;
  }

  it.each(['serve', 'host'] as const)('%s says what to do about each', async (part) => {
    const { password } = postgres.connection;
    const cases: readonly (readonly [string, string])[] = [
      [own().replace(password, 'wrong'), 'the password is not right'],
      [own().replace('/engram?', '/nowhere?'), 'no database of that name'],
      [`postgres://engram:${password}@127.0.0.1:1/engram`, 'nothing listens there'],
      ['postgres://engram:x@nowhere.invalid/engram', 'the host'],
    ];
    for (const [url, words] of part === 'serve' ? cases : cases.slice(0, 2)) {
      const error = await refused(part, url);
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining(words) });
    }
    // What a person must mend is not waited for.
    const error = await refused(part, own().replace(password, 'wrong'), { ENGRAM_DATABASE_WAIT_MS: '60000' });
    expect(error.code).toBe('unavailable');
  });

  it('of a newer release’s schema, names the way back', async () => {
    const { Client } = (await import('pg')).default;
    const client = new Client(postgres.connection);
    await client.connect();
    await client.query(`insert into engram_schema (version, name) values (99, 'later')`);
    try {
      for (const part of ['serve', 'host'] as const) {
        expect(await refused(part, own())).toMatchObject({
          code: 'schema_newer',
          message: expect.stringContaining('99'),
        });
      }
    } finally {
      await client.query('delete from engram_schema where version = 99');
      await client.end();
    }
  });
});
