// From a host's append to the event's arrival at viewers over server-sent events. Four processes as
// in production: PostgreSQL with fsync, the public door, the appending host (this one), the viewers.
// The floor, a bare insert on the same database, is measured in between all the time.
//
//   npm run bench -- append-to-sse --rate 1000 --viewers 100 --seconds 15 [--sessions 1,10,100]
//
// `--sessions n`: the viewers and the events are spread evenly over n sessions. With 1 each of the
// events goes to every viewer, which is the most there is to deliver.

import os from 'node:os';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { record } from './record.mjs';
import { message, nowUs, openLog, round, sleep, startProcess, startServer } from './stage.mjs';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '1000' },
    viewers: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '15' },
    sessions: { type: 'string', default: '1,10,100' },
    'text-bytes': { type: 'string', default: '200' },
  },
});
const [rate, viewers, seconds] = [values.rate, values.viewers, values.seconds].map(Number);
const text = 'x'.repeat(Number(values['text-bytes']));
const WARM_UP_S = 3;

const series = {};
const ratios = {};
const facts = { rate_asked: rate, viewers, seconds };
for (const sessions of values.sessions.split(',').map(Number)) {
  const result = await measure(sessions);
  const name = sessions === 1 ? 'one_session' : `${sessions}_sessions`;
  series[`append_to_sse_${name}`] = { unit: 'ms', samples: result.seen.samples };
  series[`append_${name}`] = { unit: 'ms', samples: result.appendMs };
  series[`bare_insert_floor_${name}`] = { unit: 'ms', samples: result.floor };
  ratios[`p50_${name}`] = { value: round(result.seen.p50), of: 'ms of all deliveries', bound: 10 };
  ratios[`p99_${name}`] = { value: round(result.seen.p99), of: 'ms of all deliveries', bound: 80 };
  facts[`rate_achieved_${name}`] = Math.round(result.achieved);
  facts[`deliveries_${name}`] = result.seen.arrived;
  facts[`cpu_server_${name}`] = round(result.serverCpu);
  facts[`cpu_viewers_${name}`] = round(result.viewersCpu);
  facts[`cpu_host_${name}`] = round(result.hostCpu);
  facts[`cpu_machine_${name}`] = round(result.machineCpu);
}
record('append-to-sse', {
  command: `npm run bench -- append-to-sse --rate ${rate} --viewers ${viewers} --seconds ${seconds} --sessions ${values.sessions}`,
  series,
  ratios,
  facts,
});

async function measure(sessionCount) {
  const stage = await openLog();
  const sessions = await stage.holdSessions(sessionCount);
  const server = await startServer(stage.postgres.connection);
  const streams = Array.from({ length: viewers }, (_, at) => {
    const { id, tail } = sessions[at % sessions.length];
    return { sessionId: id, since: tail };
  });
  const audience = await startProcess('./sse-viewers.mjs', {
    type: 'start',
    port: server.started.port,
    token: stage.token,
    streams,
  });

  await append(stage, sessions, rate * WARM_UP_S);
  await sleep(300);
  await audience.ask({ type: 'reset' });
  const before = [await server.ask({ type: 'cpu' }), (await audience.ask({ type: 'done', samples: 1 })).cpu];
  const host = process.cpuUsage();
  const machine = busyMs();
  const floor = floorBeside(stage.postgres.connection);
  const started = performance.now();
  const appendMs = await append(stage, sessions, rate * seconds);
  const took = performance.now() - started;
  const floorMs = await floor.stop();
  const hostCpu = share(process.cpuUsage(host), took);
  const machineCpu = (busyMs() - machine) / took;
  const expected = streams.length * Math.floor((rate * seconds) / sessions.length);
  for (let waited = 0; waited < 10_000; waited += 20) {
    if ((await audience.ask({ type: 'arrived' })).arrived >= expected) break;
    await sleep(20);
  }
  const cpu = await server.ask({ type: 'cpu' });
  const seen = await audience.ask({ type: 'done', samples: 20_000 });
  await audience.stop();
  await server.stop();
  await stage.close();
  if (seen.arrived !== expected || seen.broken > 0) {
    throw new Error(`${seen.arrived} of ${expected} deliveries arrived, ${seen.broken} out of order`);
  }
  return {
    seen,
    appendMs,
    floor: floorMs,
    achieved: (rate * seconds * 1000) / took,
    serverCpu: share(minus(cpu, before[0]), took),
    viewersCpu: share(minus(seen.cpu, before[1]), took),
    hostCpu,
    machineCpu,
  };
}

/** Appends at the rate, session after session in turn, as harnesses' events come: each for itself. */
async function append({ coordinator }, sessions, count) {
  const appendMs = [];
  const pending = [];
  const started = performance.now();
  const total = Math.floor(count / sessions.length) * sessions.length;
  for (let n = 0; n < total; n += 1) {
    const due = started + (n * 1000) / rate;
    while (performance.now() < due) await sleep(1);
    const session = sessions[n % sessions.length];
    session.seq += 1;
    const at = performance.now();
    const event = message(`bench-${session.seq}-${nowUs()}.`, text);
    pending.push(
      coordinator.appendEvents(session.id, session.epoch, [{ seq: session.seq, event }]).then((outcome) => {
        if (!outcome.ok) throw new Error(outcome.reason);
        appendMs.push(performance.now() - at);
      }),
    );
  }
  await Promise.all(pending);
  return appendMs;
}

/** What a durable write costs here and now: one small insert a transaction, ten a second. */
function floorBeside(connection) {
  const samples = [];
  let running = true;
  const done = (async () => {
    const client = new pg.Client(connection);
    await client.connect();
    await client.query('create table if not exists bench_floor (n int, data jsonb)');
    const data = JSON.stringify({ text });
    while (running) {
      const at = performance.now();
      await client.query('insert into bench_floor values ($1, $2)', [samples.length, data]);
      samples.push(performance.now() - at);
      await sleep(100);
    }
    await client.end();
    return samples;
  })();
  return {
    stop() {
      running = false;
      return done;
    },
  };
}

/** All that ran on this machine, PostgreSQL and whatever else; more than the cores do is waiting. */
function busyMs() {
  return os.cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

function minus(a, b) {
  return { user: a.user - b.user, system: a.system - b.system };
}

/** Of one core. */
function share({ user, system }, tookMs) {
  return (user + system) / 1000 / tookMs;
}
