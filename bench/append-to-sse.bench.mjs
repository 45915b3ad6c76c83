// From a host's append to the event's arrival at a viewer over server-sent events: the real
// orchestrator and coordinator on a real PostgreSQL, one appending process (this one) and viewers on
// loopback connections. The floor is a bare insert on the same database in the same run.
//
//   npm run bench -- append-to-sse --events 2000 --rate 200 --viewers 20

import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createCoordinator } from '@engram/coordinator';
import { createOrchestrator } from '@engram/orchestrator';
import { startTestPostgres } from '@engram/testkit';
import { record, summarize } from './record.mjs';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '2000' },
    rate: { type: 'string', default: '200' },
    viewers: { type: 'string', default: '20' },
  },
});
const [count, rate, viewers] = [values.events, values.rate, values.viewers].map(Number);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const log = { child: () => log, info() {}, warn() {}, error() {}, debug() {}, trace() {}, fatal() {}, level: 'silent' };

const postgres = await startTestPostgres({ fsync: true });
const coordinator = await createCoordinator({ connection: postgres.connection, log });
const door = await createOrchestrator({
  desk: coordinator,
  log,
  host: '127.0.0.1',
  port: 0,
  webRoot: fileURLToPath(new URL('../packages/web/dist', import.meta.url)),
  workspaceRoots: [],
  statusInfo: { version: 'bench' },
  holdMs: 120_000,
});
const owner = { id: 'local', name: 'bench' };
const token = randomBytes(24).toString('hex');
await coordinator.putToken(createHash('sha256').update(token).digest(), owner);
await coordinator.heartbeat({
  host_id: 'bench-host',
  name: 'bench',
  version: '0',
  pid: process.pid,
  isolation: 'process',
  slots: 10,
  credentials: 'none',
  demo: false,
});
const session = await coordinator.createSession({
  owner,
  prompt: 'bench',
  agent: 'claude',
  workspace: { kind: 'empty' },
});
const [claim] = await coordinator.claimSessions('bench-host', 1);

const sentAt = new Map();
const latencies = [];
let arrived = 0;
const requests = [];
for (let viewer = 0; viewer < viewers; viewer += 1) {
  const request = http.get(`${door.url}/api/v1/sessions/${session.id}/events?since=0`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    agent: false,
  });
  requests.push(request);
  await new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      let rest = '';
      response.setEncoding('utf8');
      response.on('error', () => {});
      response.on('data', (chunk) => {
        const now = performance.now();
        rest += chunk;
        for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
          const data = /^data: (.*)$/m.exec(rest.slice(0, end))?.[1];
          rest = rest.slice(end + 2);
          const id = data === undefined ? undefined : /bench-message-(\d+)/.exec(data)?.[1];
          if (id === undefined) continue;
          arrived += 1;
          latencies.push(now - sentAt.get(Number(id)));
        }
      });
      resolve();
    });
  });
}

const appendMs = [];
const pending = [];
const started = performance.now();
for (let n = 1; n <= count; n += 1) {
  const due = started + ((n - 1) * 1000) / rate;
  while (performance.now() < due) await sleep(Math.max(0, Math.min(2, due - performance.now())));
  const at = performance.now();
  sentAt.set(n, at);
  const event = {
    type: 'agent_message',
    run_id: 'run',
    message_id: `bench-message-${n}`,
    role: 'assistant',
    text: 'x'.repeat(300),
  };
  pending.push(
    coordinator.appendEvents(session.id, claim.epoch, [{ seq: claim.lastHarnessSeq + n, event }]).then((outcome) => {
      if (!outcome.ok) throw new Error(outcome.reason);
      appendMs.push(performance.now() - at);
    }),
  );
}
await Promise.all(pending);
const achieved = count / ((performance.now() - started) / 1000);
for (let waited = 0; arrived < count * viewers && waited < 10_000; waited += 10) await sleep(10);
for (const request of requests) request.destroy();
await door.close();
await coordinator.close();

const floor = await bareInserts(postgres.connection, 300);
await postgres.stop();
if (arrived !== count * viewers) throw new Error(`${count * viewers - arrived} events did not arrive`);

record('append-to-sse', {
  command: `npm run bench -- append-to-sse --events ${count} --rate ${rate} --viewers ${viewers}`,
  series: {
    append_to_sse: { unit: 'ms', samples: everyNth(latencies, 5000) },
    append: { unit: 'ms', samples: everyNth(appendMs, 5000) },
    bare_insert_floor: { unit: 'ms', samples: floor },
  },
  ratios: {
    over_floor: {
      value: Math.round((summarize(latencies).p50 / summarize(floor).p50) * 100) / 100,
      of: 'median append_to_sse / median bare_insert_floor',
    },
  },
  facts: { events: count, viewers, rate_asked: rate, rate_achieved: Math.round(achieved), deliveries: arrived },
});

/** One insert a transaction on one connection: what a durable write costs here. */
async function bareInserts(connection, n) {
  const { default: pg } = await import('pg');
  const client = new pg.Client(connection);
  await client.connect();
  await client.query('create table bench_floor (n int, data jsonb)');
  const data = JSON.stringify({ text: 'x'.repeat(300) });
  const samples = [];
  for (let i = 0; i < n; i += 1) {
    const at = performance.now();
    await client.query('insert into bench_floor values ($1, $2)', [i, data]);
    samples.push(performance.now() - at);
  }
  await client.end();
  return samples;
}

function everyNth(samples, most) {
  const step = Math.max(1, Math.ceil(samples.length / most));
  return samples.filter((_, i) => i % step === 0);
}
