// What one ordinary tool call costs more because Engram is there. A scripted model answers each request with
// the next call, so the time from one request to the next is the call and all that is around it. Interleaved
// on one CLI, newest by default:
//
//   no_hook      the bare CLI with permission rules and no hook at all
//   our_settings the bare CLI with the settings file that Engram writes: its hook is on the question tool alone
//   engram       the same calls in a session of a whole Engram, which reads, stores and shows each of them
//   http_hook    the bare CLI with an http hook on every tool: what ADR 0006 decided against
//
//   npm run bench -- hook-cost --rounds 6 --calls 20 --claude 2.1.332

import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createDemoModel, text, tool } from '@engram/demo-model';
import { claudeBinary, makeBareHome, startBareCli, startEngram, startHookServer, waitFor } from '@engram/testkit';
import { toSettings } from '../packages/harness-claude/dist/settings.js';
import { quantile, record } from './record.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '6' },
    calls: { type: 'string', default: '20' },
    claude: { type: 'string', default: '2.1.332' },
  },
});
const [rounds, calls] = [Number(values.rounds), Number(values.calls)];
const bin = claudeBinary(values.claude);
const REST_MS = 1500;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const scenario = (call) => (context) => [
  ...Array.from({ length: calls }, () => ({ blocks: [call(context)] })),
  { blocks: [text('done')] },
];
const model = await createDemoModel({
  scenarios: {
    READS: scenario((context) => tool('Read', { file_path: `${context.workspace}/a.txt` })),
    BASHES: scenario(() => tool('Bash', { command: 'true', description: 'nothing' })),
  },
  keepRequests: 100_000,
});

const hook = await startHookServer(async () => ({ decision: 'allow' }));
const port = Number(new URL(hook.url).port);
const ours = toSettings({ type: 'http', port });
const { hooks: _ours, ...withoutHook } = ours;
const everyTool = { PreToolUse: [{ matcher: '*', hooks: [{ type: 'http', url: hook.url, timeout: 600 }] }] };
const homes = {
  no_hook: makeBareHome(withoutHook),
  our_settings: makeBareHome(ours),
  http_hook: makeBareHome({ ...withoutHook, hooks: everyTool }),
};
for (const home of Object.values(homes)) fs.writeFileSync(path.join(home.workspace, 'a.txt'), 'one line\n');

const engram = await startEngram({ claudeVersion: values.claude, model, idleMs: 1000 });

/** Milliseconds of each call: from the request that got the call as its reply to the next request. */
function callTimes(name, since) {
  const asked = model.requests.filter((request) => request.at >= since && request.scenario === name);
  if (asked.length !== calls + 1) throw new Error(`${asked.length} requests for ${calls} calls`);
  // The first call warms the tool up.
  return asked.slice(2).map((request, at) => request.at - asked[at + 1].at);
}

async function bare(series, name) {
  const since = Date.now();
  const cli = startBareCli({ bin, modelUrl: model.url, home: homes[series] });
  cli.user(`[[${name}]]`);
  await cli.wait((line) => line.type === 'result', 60_000);
  await cli.end();
  return callTimes(name, since);
}

async function whole(name) {
  const folder = homes.no_hook.workspace;
  const since = Date.now();
  const session = await engram.api.createSession({ prompt: `[[${name}]]`, workspace: { kind: 'path', path: folder } });
  await engram.api.eventsUntil(session.id, (event) => event.type === 'run_completed');
  const times = callTimes(name, since);
  await waitFor(async () => (await engram.api.getSession(session.id)).status === 'idle', 20_000, 'sleep');
  return times;
}

const samples = {};
const NAMES = { READS: 'read', BASHES: 'bash' };
try {
  await bare('no_hook', 'READS');
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, label] of Object.entries(NAMES)) {
      for (const series of ['no_hook', 'our_settings', 'engram', 'http_hook']) {
        await sleep(REST_MS);
        const times = series === 'engram' ? await whole(name) : await bare(series, name);
        const key = `${label}_${series}`;
        samples[key] = [...(samples[key] ?? []), ...times];
      }
    }
    process.stderr.write(`round ${round + 1} of ${rounds}\r`);
  }
} finally {
  await engram.stop();
  await hook.close();
  await model.close();
  for (const home of Object.values(homes)) home.remove();
}

const p50 = (name) => quantile(samples[name], 0.5);
const added = (label, series, bound) => ({
  value: Math.round((p50(`${label}_${series}`) - p50(`${label}_no_hook`)) * 10) / 10,
  of: `ms: median ${label}_${series} − median ${label}_no_hook`,
  ...(bound === undefined ? {} : { bound }),
});
record('hook-cost', {
  command: `npm run bench -- hook-cost --rounds ${rounds} --calls ${calls} --claude ${values.claude}`,
  versions: { claude: values.claude },
  series: Object.fromEntries(Object.entries(samples).map(([name, each]) => [name, { unit: 'ms', samples: each }])),
  ratios: Object.fromEntries(
    Object.values(NAMES).flatMap((label) => [
      [`${label}_added_by_our_settings`, added(label, 'our_settings', '≤ 12')],
      [`${label}_added_by_engram`, added(label, 'engram', '≤ 12')],
      [`${label}_added_by_http_hook`, added(label, 'http_hook')],
    ]),
  ),
});
