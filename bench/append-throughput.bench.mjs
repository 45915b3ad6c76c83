// How many events a second the log takes, against bare batched inserts of the same events into a
// table of the same shape on the same PostgreSQL, in turns. Ours checks each session's epoch, gives
// the indices, cleans the payloads and settles each append for itself.
//
//   npm run bench -- append-throughput --sessions 200 --in-flight 10 --rounds 8 --seconds 2

import { parseArgs } from 'node:util';
import pg from 'pg';
import { record, summarize } from './record.mjs';
import { message, openLog } from './stage.mjs';

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '200' },
    'in-flight': { type: 'string', default: '10' },
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '2' },
  },
});
const [sessionCount, inFlight, rounds, seconds] = [
  values.sessions,
  values['in-flight'],
  values.rounds,
  values.seconds,
].map(Number);
const text = 'x'.repeat(200);

const stage = await openLog();
const sessions = await stage.holdSessions(sessionCount);
const floor = await openFloor(stage.postgres.connection, sessions);
await ours(1_000);
await floor.run(1_000);
const [oursPerS, floorPerS] = [[], []];
for (let at = 0; at < rounds; at += 1) {
  const both = [
    async () => oursPerS.push(await ours(seconds * 1000)),
    async () => floorPerS.push(await floor.run(seconds * 1000)),
  ];
  for (const one of at % 2 === 0 ? both : both.reverse()) await one();
}
await floor.close();
await stage.close();

// Each round's two runs follow each other, so a slow moment of the machine falls on both.
const ratios = oursPerS.map((mine, at) => mine / floorPerS[at]);
record('append-throughput', {
  command: `npm run bench -- append-throughput --sessions ${sessionCount} --in-flight ${inFlight} --rounds ${rounds} --seconds ${seconds}`,
  series: {
    append: { unit: 'events/s', samples: oursPerS },
    bare_batched_insert_floor: { unit: 'events/s', samples: floorPerS },
    of_floor: { unit: '×', samples: ratios },
  },
  ratios: { of_floor: { value: summarize(ratios).p50, of: 'append / floor of the same round, median', bound: 0.7 } },
  facts: { sessions: sessionCount, in_flight: sessionCount * inFlight, floor_batch: sessionCount * inFlight },
});

/** Each session appends one event at a time and keeps so many unanswered. Events a second. */
async function ours(ms) {
  const started = performance.now();
  const until = started + ms;
  let stored = 0;
  const one = async (session) => {
    while (performance.now() < until) {
      session.seq += 1;
      const event = message(`message-${session.seq}`, text);
      const outcome = await stage.coordinator.appendEvents(session.id, session.epoch, [{ seq: session.seq, event }]);
      if (!outcome.ok) throw new Error(outcome.reason);
      stored += 1;
    }
  };
  await Promise.all(sessions.flatMap((session) => Array.from({ length: inFlight }, () => one(session))));
  return (stored * 1000) / (performance.now() - started);
}

/**
 * One prepared statement a batch on one connection, as many events a batch as ours has unanswered, the
 * events as one JSON array: of the ways to hand over a batch the fastest one found.
 */
async function openFloor(connection, of) {
  const client = new pg.Client(connection);
  await client.connect();
  await client.query(
    `create table bench_floor (session_id uuid not null, idx bigint not null, at timestamptz(3) not null,
      kind text not null, data jsonb not null, raw bytea, size integer not null, primary key (session_id, idx))`,
  );
  const statement = {
    name: 'bench_floor',
    text: `insert into bench_floor (session_id, idx, at, kind, data, size)
      select s, i, statement_timestamp(), k, d, n
      from rows from (unnest($1::uuid[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::int[]),
        jsonb_array_elements($5::jsonb)) as rows (s, i, k, n, d)`,
  };
  const next = new Map(of.map(({ id }) => [id, 0]));
  return {
    async run(ms) {
      const started = performance.now();
      let stored = 0;
      while (performance.now() - started < ms) {
        const rows = of.flatMap(({ id }) =>
          Array.from({ length: inFlight }, () => {
            const idx = next.get(id) + 1;
            next.set(id, idx);
            const { type, ...fields } = message(`message-${idx}`, text);
            const data = JSON.stringify(fields);
            return { id, idx, type, size: Buffer.byteLength(data), data };
          }),
        );
        const array = (pick) => `{${rows.map(pick).join(',')}}`;
        await client.query({
          ...statement,
          values: [
            array((row) => row.id),
            array((row) => row.idx),
            array((row) => row.type),
            array((row) => row.size),
            `[${rows.map((row) => row.data).join(',')}]`,
          ],
        });
        stored += rows.length;
      }
      return (stored * 1000) / (performance.now() - started);
    },
    close: () => client.end(),
  };
}
