// Makes packages/coordinator/test/fixtures/schema/<version>.{sql,json}: a database as a release left it, with a
// session in every state, and what that release's own coordinator said of it. Made once for each release, never
// edited: `node scripts/schema-fixture.mjs 0.1.0`. Needs a build of this tree (its PostgreSQL runs it).

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { pino } from 'pino';
import { prepareRelease, releases } from './old-release.mjs';
import { root } from './repository.mjs';

const release = releases().find(({ version }) => version === process.argv[2]);
if (release === undefined) throw new Error('name a release of releases.json');
const folder = await prepareRelease(release);
const old = (path) => import(pathToFileURL(join(folder, 'packages/coordinator/dist', path)).href);
const { createCoordinator, startEmbeddedPostgres } = await old('index.js');
const log = pino({ level: 'silent' });

const data = mkdtempSync(join(tmpdir(), 'egf-'));
const run = mkdtempSync(join(tmpdir(), 'egr-'));
const postgres = await startEmbeddedPostgres({ dataDir: data, runDir: run, log });
try {
  const connection = postgres.connectionConfig;
  const coordinator = await createCoordinator({ connection, log });
  await makeSessions(coordinator);
  const target = join(root, 'packages/coordinator/test/fixtures/schema');
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, `${release.version}.json`), `${JSON.stringify(await readBack(coordinator), null, 1)}\n`);
  await coordinator.close();
  writeFileSync(join(target, `${release.version}.sql`), await toSql(connection));
} finally {
  await postgres.stop();
  for (const path of [data, run]) rmSync(path, { recursive: true, force: true });
}

async function makeSessions(desk) {
  const ada = { id: 'ada', name: 'Ada' };
  const question = {
    question: 'Which editor?',
    header: 'Editor',
    multi_select: false,
    options: [
      { label: 'vi', description: 'small' },
      { label: 'emacs', description: 'large' },
    ],
  };
  const host = {
    host_id: 'h1',
    name: 'h1',
    version: release.version,
    pid: 1,
    isolation: 'process',
    slots: 8,
    credentials: 'none',
    demo: true,
  };
  const make = (title, workspace = { kind: 'empty' }) =>
    desk.createSession({ owner: ada, agent: 'claude', workspace, title, prompt: 'go', idempotencyKey: title });
  const claim = async (id) => (await desk.claimSessions('h1', 100)).find(({ session }) => session.id === id);
  const say = async (id, epoch, from, events) => {
    const done = await desk.appendEvents(
      id,
      epoch,
      events.map((event, at) => ({ seq: from + at, event })),
    );
    if (!done.ok) throw new Error(done.reason);
  };
  const asks = (prompt_id, call) => [
    { type: 'run_started', run_id: 'r1', prompt_id },
    {
      type: 'agent_message',
      run_id: 'r1',
      message_id: 'm1',
      role: 'assistant',
      text: 'tab\t back\\slash \\. ü 🦊 \u2028',
    },
    {
      type: 'file_changed',
      run_id: 'r1',
      tool_call_id: 't0',
      path: 'src/main.rs',
      change: { type: 'edit', hunks: [{ old: 'a', new: 'b' }] },
    },
    { type: 'unknown', index: 250, bytes: Uint8Array.from([250, 0, 0, 0, 255, 0, 10]) },
    { type: 'user_question', run_id: 'r1', tool_call_id: call, questions: [question] },
    { type: 'run_completed', run_id: 'r1', ok: true },
    { type: 'harness_idle' },
  ];
  await desk.heartbeat(host);
  await desk.putToken(Buffer.alloc(32, 7), ada);
  await desk.putLoginCode(Buffer.alloc(32, 8), ada, 600_000);
  await desk.putBrowserSession(Buffer.alloc(32, 9), ada, 600_000_000);
  await make('created');
  for (const title of ['waiting', 'sent', 'answered', 'dismissed', 'interrupted', 'failed', 'active', 'path']) {
    const { id } = await make(title, title === 'path' ? { kind: 'path', path: '/srv/work' } : { kind: 'empty' });
    const { epoch, session } = await claim(id);
    const call = `toolu_${title}`;
    await say(id, epoch, 1, asks(session.undelivered[0].id, call));
    const by = ada;
    const answers = { 'Which editor?': ['vi'] };
    if (title === 'active') await desk.acceptPrompt(id, { text: 'and now this', prompt_id: 'queued-1', by });
    else await desk.releaseLease(id, epoch, title === 'failed' ? 'failed' : 'idle');
    if (title === 'sent' || title === 'answered') await desk.acceptAnswer(id, { tool_call_id: call, answers, by });
    if (title === 'dismissed') await desk.dismissQuestion(id, { tool_call_id: call, reason: 'no', by });
    if (title === 'interrupted') await desk.interrupt(id, by);
    if (title === 'answered') {
      const again = await claim(id);
      await say(id, again.epoch, 8, [
        { type: 'run_started', run_id: 'r2' },
        { type: 'question_answered', run_id: 'r2', tool_call_id: call, answers },
        {
          type: 'usage',
          run_id: 'r2',
          input_tokens: 10,
          output_tokens: 20,
          cache_read_tokens: 30,
          cache_write_tokens: 40,
          cost_micro_usd: 50,
        },
        { type: 'run_completed', run_id: 'r2', ok: true },
      ]);
      await desk.releaseLease(id, again.epoch, 'idle');
    }
  }
  const gone = await make('deleted');
  await claim(gone.id);
  await desk.deleteSession(gone.id);
}

async function readBack(desk) {
  const { items } = await desk.listSessions({ owner: 'ada', limit: 100 });
  const events = {};
  for (const { id } of items) events[id] = (await desk.readEvents(id, 0, 1_000)).events;
  const pending = (await desk.listPendingQuestions({ owner: 'ada', limit: 100 })).items;
  return { sessions: items, events, pending, hosts: await desk.listHosts() };
}

/** The release's own statements, then one insert a row. */
async function toSql(connection) {
  const { sessionsMigration } = await old('migrations/0001-sessions.js');
  const client = new pg.Client(connection);
  await client.connect();
  const { rows: tables } = await client.query(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
  );
  const lines = [
    `-- A database as release ${release.version} leaves it; made by scripts/schema-fixture.mjs, never edited.`,
    'create table engram_schema (version integer primary key, name text not null, applied_at timestamptz(3) not null default now());',
    sessionsMigration.trim(),
  ];
  for (const { name } of tables) {
    const { rows } = await client.query(
      `select format('insert into %I overriding system value select * from jsonb_populate_record(null::%I, %L::jsonb);',
         '${name}', '${name}', to_jsonb(t)::text) as line from ${name} t order by 1`,
    );
    lines.push(...rows.map((row) => row.line));
  }
  const { rows } = await client.query('select last_value from outbox_id_seq');
  lines.push(`select setval('outbox_id_seq', ${rows[0].last_value});`);
  await client.end();
  return `${lines.join('\n')}\n`;
}
