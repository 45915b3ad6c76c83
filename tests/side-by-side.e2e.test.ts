// The last release and this tree on one database, as while a team rolls from one to the other and back: each
// starts on what the other left, each stores, replays and streams what only the other knows.

import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClient, type ApiEvent, createApiClient } from '@engram/cli';
import { type Coordinator, createCoordinator } from '@engram/coordinator';
import { openRunDir } from '@engram/host-agent';
import {
  claudeBinary,
  claudeVersions,
  type Part,
  type PartOptions,
  spawnPart,
  startTestPostgres,
  type TestPostgres,
  toDatabaseUrl,
  waitFor,
} from '@engram/testkit';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingRelease, prepareRelease, releases } from '../scripts/old-release.mjs';

const release = releases().at(-1);
const missing = release === undefined ? 'releases.json names no release.' : missingRelease(release);
// A clone without history cannot have the old release; `npm run side-by-side` says so and fails.
const isAsked = process.env.SIDE_BY_SIDE === '1';
if (missing !== undefined && !isAsked) process.stderr.write(`${missing}\n`);

interface Server {
  readonly part: Part;
  readonly api: ApiClient;
  readonly url: string;
  readonly token: string;
}

let folder = '';
let oldRoot = '';
let postgres: TestPostgres;
const parts = new Set<Part>();
const servers = new Map<string, Server>();
/** Sessions held by this test itself, as by a host of a release to come. */
let coordinator: Coordinator;

beforeAll(async () => {
  if (missing !== undefined || release === undefined) return;
  oldRoot = await prepareRelease(release);
  folder = await realpath(await mkdtemp(join(tmpdir(), 'engram-both-')));
  postgres = await startTestPostgres();
});
afterAll(async () => {
  if (folder === '') return;
  await coordinator?.close();
  for (const part of parts) {
    part.kill('SIGKILL');
    await part.exited;
  }
  await postgres.stop();
  for (const name of ['old-serve', 'new-serve', 'host']) {
    await rm(await openRunDir(join(folder, name)).catch(() => folder), { recursive: true, force: true });
  }
  await rm(folder, { recursive: true, force: true });
});

async function start(which: 'old' | 'new', part: 'serve' | 'host'): Promise<Part> {
  // A host keeps its folder when its machine gets another release.
  const dataDir = join(folder, part === 'host' ? 'host' : `${which}-serve`);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const options: PartOptions = {
    part,
    databaseUrl: toDatabaseUrl(postgres.connection),
    dataDir,
    args: part === 'serve' ? ['--port', '0'] : [],
    env: { ENGRAM_CLAUDE_BIN: claudeBinary(claudeVersions().at(-1) ?? ''), ENGRAM_IDLE_MS: '500' },
    ...(which === 'old' ? { root: oldRoot } : {}),
  };
  const started = spawnPart(options);
  parts.add(started);
  const said = await started.ready;
  if (part === 'serve') {
    const url = String(said.url);
    const token = (await readFile(join(dataDir, 'token'), 'utf8')).trim();
    servers.set(which, { part: started, url, token, api: createApiClient({ url, token }) });
  }
  return started;
}

async function stop(part: Part): Promise<void> {
  part.kill('SIGTERM');
  expect((await part.exited).code).toBe(0);
  parts.delete(part);
}

function server(which: 'old' | 'new'): Server {
  const found = servers.get(which);
  if (found === undefined) throw new Error(`no ${which} server`);
  return found;
}

async function ask(api: ApiClient): Promise<string> {
  const { id } = await api.createSession({
    prompt: 'Show me the demo',
    model: 'engram-demo',
    workspace: { kind: 'empty' },
  });
  await asleep(api, id);
  return id;
}

async function asleep(api: ApiClient, id: string): Promise<void> {
  await waitFor(
    async () => {
      const session = await api.getSession(id);
      return session.awaiting.length > 0 && session.status === 'idle';
    },
    40_000,
    'a question with nothing awake',
  );
}

async function answer(api: ApiClient, id: string): Promise<void> {
  const [waiting] = (await api.getSession(id)).awaiting;
  const answers = Object.fromEntries(
    (waiting?.questions ?? []).map(({ question, options }) => [question, [options[0]?.label ?? '']]),
  );
  await api.answer(id, waiting?.tool_call_id ?? '', answers);
  await waitFor(
    async () => (await typesOf(api, id)).includes('question_answered'),
    40_000,
    'the answer with the agent',
  );
  await waitFor(async () => !(await api.getSession(id)).running, 40_000, 'the end of the run');
}

/** By page, as it came. */
async function pageOf({ url, token }: Server, id: string): Promise<readonly { readonly idx: number }[]> {
  const reply = await fetch(`${url}/api/v1/sessions/${id}/events?limit=1000`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return JSON.parse(await reply.text()).events;
}

async function streamOf({ api }: Server, id: string, until: number): Promise<readonly ApiEvent[]> {
  const seen: ApiEvent[] = [];
  for await (const event of api.stream(id, { signal: AbortSignal.timeout(20_000) })) {
    if (event.idx !== undefined) seen.push(event);
    if ((event.idx ?? 0) >= until) break;
  }
  return seen;
}

async function typesOf(api: ApiClient, id: string): Promise<readonly string[]> {
  return (await api.events(id)).events.map((event) => event.type);
}

async function query(text: string, values: unknown[] = []): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(postgres.connection);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

async function expectWhole(id: string): Promise<void> {
  const old = await pageOf(server('old'), id);
  expect(old).toEqual(await pageOf(server('new'), id));
  expect(old.map((event) => event.idx)).toEqual(old.map((_, at) => at + 1));
}

const present = missing === undefined || isAsked;
describe.skipIf(!present)(`release ${release?.version ?? ''} and this tree on one database`, () => {
  it('has the old release to compare with', () => expect(missing).toBeUndefined());

  it('the old one begins, the new one joins it, and a host is upgraded and rolled back with its sessions', async () => {
    await start('old', 'serve');
    const oldHost = await start('old', 'host');
    const first = await ask(server('old').api);
    expect(await query(`select to_regclass('engram_schema_additions')::text as at`)).toEqual([{ at: null }]);

    // The new server brings the schema up to date below the working old ones.
    await start('new', 'serve');
    expect(await query(`select count(*) > 0 as some from engram_schema_additions`)).toEqual([{ some: true }]);
    await stop(oldHost);

    const newHost = await start('new', 'host');
    await answer(server('old').api, first);
    const second = await ask(server('new').api);
    await stop(newHost);

    // Back to the old one: it starts on the newer schema, and goes on with what the new one left.
    const again = await start('old', 'host');
    await answer(server('new').api, second);
    await stop(again);
    for (const id of [first, second]) await expectWhole(id);
  });

  it('the old server starts anew on the newer schema', async () => {
    await stop(server('old').part);
    await start('old', 'serve');
    expect((await fetch(`${server('old').url}/readyz`)).status).toBe(200);
  });

  it.each(['old', 'new'] as const)(
    'kinds of a release to come go through the %s server and host unchanged',
    async (which) => {
      coordinator ??= await createCoordinator({ connection: postgres.connection, log: postgres.log });
      const { api } = server(which);
      const { id } = await api.createSession({
        title: 'from tomorrow',
        workspace: { kind: 'empty' },
        model: 'engram-demo',
      });
      await api.prompt(id, 'hello');
      const claim = (await coordinator.claimSessions('tomorrow', 10)).find(({ session }) => session.id === id);
      const epoch = claim?.epoch ?? 0;
      const bytes = Uint8Array.from([250, 0, 0, 0, 1, 255, 10, 0, 92]);
      // A wire event with an index nobody knows yet, relayed by a host as it came.
      const stored = await coordinator.appendEvents(id, epoch, [
        { seq: 1, event: { type: 'unknown', index: 250, bytes } },
        { seq: 2, event: { type: 'run_completed', run_id: 'r', ok: true } },
      ]);
      expect(stored).toMatchObject({ ok: true });
      // And a kind of the coordinator's own, with fields and values of its own.
      await query(
        `with moved as (update sessions set last_idx = last_idx + 1 where id = $1 returning last_idx)
       insert into events (session_id, idx, at, kind, data, size) select $1, last_idx, now(), 'approval_requested', $2::jsonb, 1 from moved`,
        [id, '{"tool_call_id":"t","deep":[{"n":12345678901234567890.5,"s":"\\u2028 🦊 \\\\N"}],"null":null}'],
      );
      const tail = (await api.getSession(id)).last_event_idx;
      await expectWhole(id);
      for (const each of [server('old'), server('new')]) {
        const streamed = await streamOf(each, id, tail);
        expect(streamed).toEqual((await each.api.events(id)).events);
        const unknown = streamed.find((event) => event.type === 'unknown');
        expect(unknown).toMatchObject({ index: 250, bytes: Buffer.from(bytes).toString('base64') });
        expect(streamed.at(-1)).toMatchObject({ type: 'approval_requested', null: null });
      }

      // A host of either release takes the session over and appends behind it.
      await coordinator.releaseLease(id, epoch, 'failed');
      const host = await start(which, 'host');
      await api.prompt(id, 'Show me the demo');
      await asleep(api, id);
      await stop(host);
      await expectWhole(id);
    },
  );
});
