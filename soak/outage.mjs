// `npm run outage -- [--seconds 60]`: a server and a host on a PostgreSQL that is stopped hard (immediate) in the middle
// of work and stays away for so long; meanwhile prompts are tried. Prints what was answered, how soon work went on,
// and whether everything acknowledged is there, once and in order. Appends one line to bench/results/outage.jsonl.

import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createApiClient } from '@engram/cli';
import { startEmbeddedPostgres } from '@engram/coordinator';
import { createDemoModel, text, tool } from '@engram/demo-model';
import { openRunDir } from '@engram/host-agent';
import { claudeBinary, claudeVersions, repositoryRoot, spawnPart, toDatabaseUrl, waitFor } from '@engram/testkit';
import { pino } from 'pino';
import { createLedger } from './crash-ledger.mjs';
import { measuredCommit } from './measured-commit.mjs';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
const awayMs = Number(values.seconds) * 1_000;
const TOKEN = 'a-token-for-the-outage-0123456789abcdef';
const log = pino({ level: 'silent' });
const root = mkdtempSync(join(tmpdir(), 'engram-outage-'));
const [database, serverDir, hostDir] = ['database', 'server', 'host'].map((name) => join(root, name));
for (const path of [database, serverDir, hostDir]) mkdirSync(path, { mode: 0o700 });
const startPostgres = async () => startEmbeddedPostgres({ dataDir: database, runDir: await openRunDir(database), log });

const steps = ({ workspace }) => [
  ...Array.from({ length: 30 }, (_, n) => ({
    blocks: [text(`step ${n}`), tool('Write', { file_path: `${workspace}/${n}.txt`, content: `${n}\n` })],
    beforeStart: 1_000,
  })),
  { blocks: [text('All of it is done.')] },
];
const model = await createDemoModel({
  keepRequests: 50,
  scenarios: { SLOW: steps, QUICK: [{ blocks: [text('Quick.')] }] },
});
let postgres = await startPostgres();
const databaseUrl = toDatabaseUrl(postgres.connectionConfig);
const env = {
  ENGRAM_API_TOKEN: TOKEN,
  ENGRAM_CLAUDE_BIN: claudeBinary(claudeVersions().at(-1)),
  ANTHROPIC_BASE_URL: model.url,
  ANTHROPIC_API_KEY: 'made-up-for-tests',
};
const server = spawnPart({ part: 'serve', databaseUrl, dataDir: serverDir, args: ['--port', '0'], env });
const host = spawnPart({ part: 'host', databaseUrl, dataDir: hostDir, env });
const outcome = { at: new Date().toISOString(), away_seconds: awayMs / 1_000, refused: {}, findings: [] };
try {
  const url = String((await server.ready).url);
  await host.ready;
  const api = createApiClient({ url, token: TOKEN });
  const ledger = createLedger();
  const send = async (id, words) => {
    const promptId = randomUUID();
    await api.prompt(id, words, promptId);
    ledger.prompted(id, promptId, true);
  };
  const ids = [];
  for (let n = 0; n < 3; n += 1) {
    const { id } = await api.createSession({ title: `worker ${n}`, workspace: { kind: 'empty' } });
    ledger.created(id);
    ids.push(id);
    await send(id, 'Please. [[SLOW]]');
  }
  const written = async (id) =>
    (await api.events(id, 0, 1_000)).events.filter((event) => event.type === 'file_changed').length;
  await waitFor(async () => (await Promise.all(ids.map(written))).every((n) => n >= 2), 120_000, 'every agent at work');
  for (const id of ids) for (const event of (await api.events(id, 0, 1_000)).events) ledger.saw(id, event);

  process.kill(postgres.pid, 'SIGQUIT');
  await postgres.exited;
  const until = Date.now() + awayMs;
  while (Date.now() < until) {
    const reply = await fetch(`${url}/api/v1/sessions/${ids[0]}/prompts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'Please. [[QUICK]]' }),
    });
    const { code } = await reply.json();
    const kind = `${reply.status} ${code}, retry-after ${reply.headers.get('retry-after')}`;
    outcome.refused[kind] = (outcome.refused[kind] ?? 0) + 1;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  outcome.ready_while_away = (await fetch(`${url}/readyz`)).status;
  postgres = await startPostgres();
  const back = Date.now();
  await waitFor(async () => (await fetch(`${url}/readyz`)).status === 200, 30_000, 'the server to be ready');
  outcome.ready_after_ms = Date.now() - back;
  for (const id of ids) await send(id, 'Please. [[QUICK]]');
  outcome.accepts_after_ms = Date.now() - back;
  await waitFor(
    async () =>
      (await Promise.all(ids.map((id) => api.getSession(id)))).every(
        (each) => each.undelivered.length === 0 && !each.running,
      ),
    240_000,
    'everything to be done',
  );
  outcome.done_after_ms = Date.now() - back;
  for (const id of ids) {
    const { events } = await api.events(id, 0, 1_000);
    outcome.findings.push(...ledger.check(id, events, { over: true }));
    const files = events.filter((event) => event.type === 'file_changed').map((event) => event.path);
    if (new Set(files).size !== files.length)
      outcome.findings.push({ class: 'double', what: `a file change of ${id}` });
    if (files.length !== 30)
      outcome.findings.push({ class: 'lost', what: `${files.length} of 30 file changes of ${id}` });
  }
  outcome.acknowledged = ledger.counts();
} catch (error) {
  outcome.findings.push({ class: 'stuck', what: error.message });
} finally {
  for (const part of [host, server]) {
    part.kill('SIGTERM');
    await part.exited;
  }
  await model.close();
  await postgres.stop();
  rmSync(root, { recursive: true, force: true });
}
outcome.commit = measuredCommit();
appendFileSync(join(repositoryRoot, 'bench/results/outage.jsonl'), `${JSON.stringify(outcome)}\n`);
process.stdout.write(`${JSON.stringify(outcome, null, 1)}\n`);
process.exitCode = outcome.findings.length === 0 ? 0 : 1;
