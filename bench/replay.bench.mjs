// Reading a whole log of 20,000 events over the API, as pages of JSON and as an event stream,
// against the bare query for the same rows on a connection of its own, in turns. Both end when the
// last row is here; the API's bytes are counted and their newest idx is looked for, not parsed.
//
//   npm run bench -- replay --events 20000 --rounds 15

import http from 'node:http';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { record, summarize } from './record.mjs';
import { message, openLog, round, startServer } from './stage.mjs';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '15' },
    'text-bytes': { type: 'string', default: '300' },
  },
});
const [events, rounds] = [values.events, values.rounds].map(Number);
const text = 'x'.repeat(Number(values['text-bytes']));

const stage = await openLog();
const [session] = await stage.holdSessions(1);
for (let from = 1; from <= events; from += 1_000) {
  const some = Array.from({ length: Math.min(1_000, events - from + 1) }, (_, at) => ({
    seq: session.seq + from + at,
    event: message(`message-${from + at}`, text),
  }));
  await stage.coordinator.appendEvents(session.id, session.epoch, some);
}
const tail = session.tail + events;
const server = await startServer(stage.postgres.connection);
const client = new pg.Client(stage.postgres.connection);
await client.connect();
await client.query('vacuum analyze events').catch(() => client.query('analyze events'));

const agent = new http.Agent({ keepAlive: true });
const [bareMs, pagesMs, streamMs] = [[], [], []];
for (let at = -2; at < rounds; at += 1) {
  const all = [
    [bareMs, bareQuery],
    [pagesMs, readPages],
    [streamMs, readStream],
  ];
  // A different order each time: whoever is first pays for what the others left.
  for (let n = 0; n < all.length; n += 1) {
    const [samples, read] = all[(n + at + 3) % all.length];
    const started = performance.now();
    await read();
    if (at >= 0) samples.push(performance.now() - started);
  }
}
agent.destroy();
await client.end();
await server.stop();
await stage.close();

const over = (samples) => round(summarize(samples).p50 / summarize(bareMs).p50);
record('replay', {
  command: `npm run bench -- replay --events ${events} --rounds ${rounds} --text-bytes ${text.length}`,
  series: {
    replay_pages: { unit: 'ms', samples: pagesMs },
    replay_stream: { unit: 'ms', samples: streamMs },
    bare_query_floor: { unit: 'ms', samples: bareMs },
  },
  ratios: {
    pages_over_floor: { value: over(pagesMs), of: 'median replay_pages / median bare_query_floor', bound: 3 },
    stream_over_floor: { value: over(streamMs), of: 'median replay_stream / median bare_query_floor', bound: 3 },
  },
  facts: { events, page: 1_000 },
});

async function bareQuery() {
  const { rows } = await client.query(
    'select idx, at, kind, data, raw from events where session_id = $1 and idx > 0 order by idx',
    [session.id],
  );
  if (rows.length !== tail) throw new Error(`${rows.length} rows`);
}

function get(query, accept, onData) {
  return new Promise((resolve, reject) => {
    const request = http.get(
      {
        port: server.started.port,
        host: '127.0.0.1',
        path: `/api/v1/sessions/${session.id}/events${query}`,
        headers: { authorization: `Bearer ${stage.token}`, accept },
        agent,
      },
      (response) => {
        response.on('data', (bytes) => {
          if (onData(bytes) === 'enough') request.destroy();
        });
        response.on('end', resolve);
        response.on('close', resolve);
      },
    );
    request.on('error', (error) => (error.code === 'ECONNRESET' ? resolve() : reject(error)));
  });
}

async function readPages() {
  for (let since = 0; since < tail; ) {
    const parts = [];
    await get(`?since=${since}&limit=1000`, 'application/json', (bytes) => parts.push(bytes));
    const end = Buffer.concat(parts).subarray(-40).toString();
    since = Number(/"next_since":(\d+)\}$/.exec(end)?.[1]);
    if (!(since > 0)) throw new Error(`no next_since in ${end}`);
  }
}

async function readStream() {
  const last = Buffer.from(`\nid: ${tail}\n`);
  let rest = Buffer.alloc(0);
  let found = false;
  await get('?since=0', 'text/event-stream', (bytes) => {
    const data = Buffer.concat([rest, bytes]);
    found ||= data.includes(last);
    rest = data.subarray(-last.length);
    return found ? 'enough' : 'more';
  });
  if (!found) throw new Error('the stream ended early');
}
