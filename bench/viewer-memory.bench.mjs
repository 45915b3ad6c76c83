// What a viewer costs the public door in memory: 1,000 event streams beside none, each after garbage
// collection, in a server that has already had as many; and what is left when they have gone.
//
//   npm run bench -- viewer-memory --viewers 1000 --rounds 5 [--sessions 1,1000]

import { parseArgs } from 'node:util';
import { record, summarize } from './record.mjs';
import { message, openLog, round, sleep, startProcess, startServer } from './stage.mjs';

const { values } = parseArgs({
  options: {
    viewers: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
    sessions: { type: 'string', default: '1,1000' },
  },
});
const [viewers, rounds] = [values.viewers, values.rounds].map(Number);

const series = {};
const ratios = {};
const facts = { viewers };
for (const sessions of values.sessions.split(',').map(Number)) {
  const name = sessions === 1 ? 'one_session' : `${sessions}_sessions`;
  const { rss, heap, left } = await measure(sessions);
  series[`rss_per_viewer_${name}`] = { unit: 'KB', samples: rss };
  series[`heap_per_viewer_${name}`] = { unit: 'KB', samples: heap };
  ratios[`rss_${name}`] = { value: summarize(rss).p50, of: 'KB per viewer, median', bound: 20 };
  ratios[`heap_${name}`] = { value: summarize(heap).p50, of: 'KB per viewer, median', bound: 20 };
  facts[`left_${name}`] = `${left.streams} streams, ${left.feeds} sessions watched`;
}
record('viewer-memory', {
  command: `npm run bench -- viewer-memory --viewers ${viewers} --rounds ${rounds} --sessions ${values.sessions}`,
  series,
  ratios,
  facts,
});

async function measure(sessionCount) {
  const stage = await openLog();
  const sessions = await stage.holdSessions(sessionCount);
  const server = await startServer(stage.postgres.connection);
  const [rss, heap] = [[], []];
  let left;
  for (let at = -2; at < rounds; at += 1) {
    const before = await server.ask({ type: 'memory' });
    const audience = await startProcess('./sse-viewers.mjs', {
      type: 'start',
      port: server.started.port,
      token: stage.token,
      streams: Array.from({ length: viewers }, (_, n) => {
        const { id, tail } = sessions[n % sessions.length];
        return { sessionId: id, since: tail };
      }),
    });
    // Something was told to everybody: the windows hold what they hold in use.
    for (let told = 0; told < 5; told += 1) {
      await Promise.all(
        sessions.map((session) => {
          session.seq += 1;
          session.tail += 1;
          const event = message(`bench-${session.seq}-0.`, 'x'.repeat(200));
          return stage.coordinator.appendEvents(session.id, session.epoch, [{ seq: session.seq, event }]);
        }),
      );
      await sleep(200);
    }
    for (let waited = 0; waited < 10_000; waited += 50) {
      if ((await audience.ask({ type: 'arrived' })).arrived >= viewers * 5) break;
      await sleep(50);
    }
    const counted = await server.ask({ type: 'counts' });
    if (counted.streams !== viewers) throw new Error(`${counted.streams} streams are open`);
    const during = await server.ask({ type: 'memory' });
    await audience.stop();
    for (let waited = 0; waited < 10_000; waited += 50) {
      left = await server.ask({ type: 'counts' });
      if (left.streams === 0) break;
      await sleep(50);
    }
    if (left.streams !== 0 || left.feeds !== 0) throw new Error(`left behind: ${JSON.stringify(left)}`);
    // The first two rounds warm up: what the server keeps for its next thousand is no viewer's.
    if (at < 0) continue;
    rss.push(round((during.rss - before.rss) / 1024 / viewers));
    heap.push(round((during.heapUsed + during.external - before.heapUsed - before.external) / 1024 / viewers));
  }
  await server.stop();
  await stage.close();
  return { rss, heap, left };
}
