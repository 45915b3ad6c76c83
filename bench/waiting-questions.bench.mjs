// Ten thousand sleeping sessions that each wait for an answer, in a whole Engram on its own PostgreSQL: what
// they cost (agent processes, memory of server and host, processor time at rest) and how fast the lists are.
// One session is really asked by the real CLI; the others are copies of its rows.
//
//   npm run bench -- waiting-questions --sessions 10000 --claude 2.1.332

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createCoordinator } from '@engram/coordinator';
import { createDemoModel, text, tool } from '@engram/demo-model';
import { openRunDir } from '@engram/host-agent';
import { processMemoryMb, startEngram } from '@engram/testkit';
import pg from 'pg';
import { quantile, record } from './record.mjs';
import { log } from './stage.mjs';

const { values } = parseArgs({
  options: { sessions: { type: 'string', default: '10000' }, claude: { type: 'string', default: '2.1.332' } },
});
const wanted = Number(values.sessions);
const CALLS = 40;
const WATCH_S = 10;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const QUESTION = {
  question: 'Which database?',
  header: 'Database',
  multiSelect: false,
  options: [
    { label: 'Postgres', description: 'relational' },
    { label: 'SQLite', description: 'embedded' },
  ],
};
const BENCH = [{ blocks: [tool('AskUserQuestion', { questions: [QUESTION] })] }, { blocks: [text('done')] }];
const model = await createDemoModel({ scenarios: { BENCH } });
const engram = await startEngram({ claudeVersion: values.claude, model, idleMs: 1000 });
const step = (words) => process.stderr.write(`${words}\n`);

const connection = {
  host: await openRunDir(engram.dataDir),
  port: 5432,
  user: 'engram',
  password: readFileSync(join(engram.dataDir, 'pg-password'), 'utf8').trim(),
  database: 'engram',
};
const db = new pg.Client(connection);
await db.connect();
const desk = await createCoordinator({ connection, log });

const get = async (path) => {
  const response = await fetch(`${engram.url}/api/v1${path}`, { headers: { authorization: `Bearer ${engram.token}` } });
  const body = await response.json();
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return body;
};
const REQUESTS = {
  list: '/sessions?limit=50',
  list_awaiting: '/sessions?awaiting=true&limit=50',
  list_not_awaiting: '/sessions?awaiting=false&limit=50',
  pending: '/questions',
};

async function timed(samples, name, work) {
  const from = performance.now();
  await work();
  const took = performance.now() - from;
  samples[name] = [...(samples[name] ?? []), took];
}

async function measure(owner, sessionId) {
  const samples = {};
  for (let at = 0; at < CALLS; at += 1) {
    for (const [name, path] of Object.entries(REQUESTS)) await timed(samples, `${name}_http`, () => get(path));
    await timed(samples, 'session_http', () => get(`/sessions/${sessionId}`));
    // The same without the public door: what of it is the database.
    const query = { owner, limit: 50 };
    await timed(samples, 'list_database', () => desk.listSessions(query));
    await timed(samples, 'list_awaiting_database', () => desk.listSessions({ ...query, awaiting: true }));
    await timed(samples, 'list_not_awaiting_database', () => desk.listSessions({ ...query, awaiting: false }));
    await timed(samples, 'pending_database', () => desk.listPendingQuestions({ owner, limit: 100 }));
  }
  return samples;
}

/** Private memory in KB once it is at rest: the smallest of a few looks, between two collections of garbage. */
async function memoryKb() {
  const looks = [];
  for (let at = 0; at < 8; at += 1) {
    await sleep(1000);
    looks.push({ serve: processMemoryMb(engram.pids.serve), host: processMemoryMb(engram.pids.host) });
  }
  const least = (name) => Math.min(...looks.map((look) => look[name].private)) * 1024;
  return { serve: least('serve'), host: least('host') };
}

function cpuMs(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const rest = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(rest[11]) + Number(rest[12])) * 10;
}

async function copySessions(id, count) {
  const columns = async (table, except) => {
    const { rows } = await db.query(
      `select column_name from information_schema.columns where table_schema = current_schema() and table_name = $1`,
      [table],
    );
    return rows.map((row) => row.column_name).filter((name) => !except.includes(name));
  };
  await db.query('begin');
  await db.query(
    `create temporary table copies on commit drop as select gen_random_uuid() as id, n from generate_series(1, ${count}) n`,
  );
  const own = await columns('sessions', ['id', 'title', 'updated_at']);
  await db.query(
    `insert into sessions (id, title, updated_at, ${own}) select c.id, s.title || ' ' || c.n,
       s.updated_at - c.n * interval '1 second', ${own.map((name) => `s.${name}`)} from sessions s, copies c where s.id = $1`,
    [id],
  );
  const asked = await columns('questions', ['session_id', 'asked_at']);
  await db.query(
    `insert into questions (session_id, asked_at, ${asked}) select c.id, q.asked_at - c.n * interval '1 second',
       ${asked.map((name) => `q.${name}`)} from questions q, copies c where q.session_id = $1`,
    [id],
  );
  const told = await columns('events', ['session_id']);
  await db.query(
    `insert into events (session_id, ${told}) select c.id, ${told.map((name) => `e.${name}`)}
       from events e, copies c where e.session_id = $1`,
    [id],
  );
  await db.query('commit');
  await db.query('analyze');
}

try {
  const { id, owner } = await engram.api.createSession({ prompt: '[[BENCH]]', workspace: { kind: 'empty' } });
  await engram.api.eventsUntil(id, (event) => event.type === 'status_changed' && event.to === 'idle');
  step('one question waits; a hundred more, and the same calls, to have everything loaded');
  await copySessions(id, 100);
  for (let at = 0; at < 3; at += 1) await measure(owner, id);
  const before = await memoryKb();
  step(`server ${before.serve} KB and host ${before.host} KB with 101; now ${wanted}`);

  await copySessions(id, wanted - 101);
  const [{ count }] = (await db.query(`select count(*)::int from questions where state = 'waiting'`)).rows;
  const samples = await measure(owner, id);
  const cpu = { serve: cpuMs(engram.pids.serve), host: cpuMs(engram.pids.host) };
  await sleep(WATCH_S * 1000);
  const used = { serve: cpuMs(engram.pids.serve) - cpu.serve, host: cpuMs(engram.pids.host) - cpu.host };
  const after = await memoryKb();
  const grown = (name) => Math.round(((after[name] - before[name]) / (count - 101)) * 1000) / 1000;
  step(`server ${after.serve} KB and host ${after.host} KB with ${count}`);

  const p50 = (name) => Math.round(quantile(samples[name], 0.5) * 10) / 10;
  const bound = (name) => ({ value: p50(name), of: `ms: median ${name}`, bound: '≤ 50' });
  record('waiting-questions', {
    command: `npm run bench -- waiting-questions --sessions ${wanted} --claude ${values.claude}`,
    versions: { claude: values.claude },
    series: Object.fromEntries(Object.entries(samples).map(([name, each]) => [name, { unit: 'ms', samples: each }])),
    ratios: {
      agent_processes: { value: engram.agents().length, of: 'processes', bound: '0' },
      memory_per_question: {
        value: Math.round((grown('serve') + grown('host')) * 1000) / 1000,
        of: 'KB of server and host for each waiting question',
        bound: '≤ 2',
      },
      ...Object.fromEntries(Object.keys(REQUESTS).map((name) => [name, bound(`${name}_http`)])),
    },
    facts: {
      waiting: count,
      harnesses_started_ahead: engram.processTable().filter(({ kind }) => kind === 'harness').length,
      serve_private_kb_before: before.serve,
      serve_private_kb_after: after.serve,
      host_private_kb_before: before.host,
      host_private_kb_after: after.host,
      serve_cpu_ms_in_10_s_at_rest: used.serve,
      host_cpu_ms_in_10_s_at_rest: used.host,
    },
  });
} finally {
  await desk.close();
  await db.end();
  await engram.stop();
  await model.close();
}
