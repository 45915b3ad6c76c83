// `npm run crash -- --rounds N --seed S [--claude VERSION|PATH]`: the embedded stack on one data folder, killed with
// SIGKILL under load N times and started again. After each start every acknowledged prompt and answer and every
// event that was shown must be there, once and unchanged, and a second opener of the folder must be refused in
// words. Appends one line to bench/results/crash.jsonl; exit code 1 when anything was lost.

import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createApiClient } from '@engram/cli';
import { ask, createDemoModel, text, tool } from '@engram/demo-model';
import { claudeBinary, claudeVersions, repositoryRoot, spawnUp } from '@engram/testkit';
import { createLedger } from './crash-ledger.mjs';
import { measuredCommit } from './measured-commit.mjs';
import { createRandom } from './random.mjs';
import { openStage, pause } from './stage.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    claude: { type: 'string', default: claudeVersions().at(-1) },
  },
});
const rounds = Number(values.rounds);
const random = createRandom('crash', values.seed);
const say = (line) => process.stdout.write(`${line}\n`);

const SESSIONS = 5;
const OWED_MAX = 4;
const REFUSED_MS = 5_000;
const SETTLE_MS = 180_000;

/** Everything at once most of the time; one part alone, which takes the rest down, in between. */
const TARGETS = ['all', 'all', 'up', 'all', 'postgres', 'all', 'all', 'serve', 'all', 'host'];

const question = () =>
  ask({
    question: 'Which colour?',
    header: 'Colour',
    multiSelect: false,
    options: ['Red', 'Blue'].map((label) => ({ label, description: 'a colour' })),
  });
const write = (workspace, n) =>
  tool('Write', { file_path: `${workspace}/file-${n}.txt`, content: `${n}\nsecond line\n` });
const scenarios = {
  CRASH: ({ arg, workspace }) => [
    { blocks: [text('I write a few files.'), ...[1, 2, 3, 4].map((n) => write(workspace, n))], chunk: 8 },
    ...(arg === 'ask' ? [{ blocks: [text('One thing is yours to decide.'), question()] }] : []),
    { blocks: [text('All of it is done.')] },
  ],
};

const findings = [];
const ledger = createLedger();
const model = await createDemoModel({ keepRequests: 50, scenarios });
const stage = await openStage({
  claude: values.claude.includes('/') ? values.claude : claudeBinary(values.claude),
  model,
  onProblem: (kind, what) => findings.push({ class: 'stack', what: `${kind}: ${what}` }),
});
const begun = Date.now();
const restartMs = [];
const refusedMs = [];
const kills = {};
say(`crash: seed ${values.seed}, ${rounds} rounds, Claude Code ${values.claude}, ${stage.dataDir}`);
try {
  for (let n = 0; n < SESSIONS; n += 1) {
    const { id } = await api().createSession({ title: `talker ${n}`, workspace: { kind: 'empty' } });
    ledger.created(id);
  }
  for (let round = 1; round <= rounds; round += 1) await playRound(round);
  await settle();
} finally {
  await stage.close(findings.length > 0);
  await model.close();
}
report();

function api() {
  return createApiClient({ url: stage.url, token: stage.token });
}

async function playRound(round) {
  const target = TARGETS[round % TARGETS.length];
  const load = startLoad();
  await pause(random.whole(3_000, 7_000));
  const before = ledger.counts();
  await refuseSecond();
  const killed = Date.now();
  kills[target] = (kills[target] ?? 0) + 1;
  await stage.fault({ what: target });
  restartMs.push(Date.now() - killed);
  await load.stop();
  const found = await checkAll();
  findings.push(...found);
  say(
    `${found.length === 0 ? 'ok  ' : 'FAIL'} ${String(round).padStart(3)}  ${target.padEnd(8)} back after ${restartMs.at(-1)} ms; ` +
      `${before.prompts} prompts, ${before.answers} answers acknowledged, ${before.events_seen} events seen`,
  );
  for (const finding of found) say(`          ${finding.class}: ${finding.what}`);
}

/** Until stopped: every session gets prompts and answers, and is read live. */
function startLoad() {
  const stopper = new AbortController();
  const client = api();
  const over = () => stopper.signal.aborted;
  const all = ledger.sessionIds().flatMap((id) => [talk(client, id, over), watch(client, id, stopper.signal)]);
  return {
    async stop() {
      stopper.abort();
      await Promise.all(all);
    },
  };
}

async function talk(client, id, over) {
  for (let n = 0; !over(); n += 1) {
    try {
      const session = await client.getSession(id);
      for (const { tool_call_id, state } of session.awaiting) {
        if (state !== 'waiting') continue;
        await client.answer(id, tool_call_id, { 'Which colour?': ['Blue'] });
        ledger.answered(id, tool_call_id);
      }
      if (session.undelivered.length < OWED_MAX && session.awaiting.length === 0) {
        const promptId = randomUUID();
        await client.prompt(id, `Please. [[CRASH:${n % 3 === 2 ? 'ask' : 'plain'}]]`, promptId).then(
          () => ledger.prompted(id, promptId, true),
          (error) => {
            ledger.prompted(id, promptId, false);
            throw error;
          },
        );
      }
    } catch {
      // It is down: the round is about to end.
    }
    await pause(random.whole(50, 250));
  }
}

async function watch(client, id, signal) {
  try {
    const { last_event_idx: tail } = await client.getSession(id);
    for await (const event of client.stream(id, { since: Math.max(0, tail - 20), signal })) {
      if (event.idx === undefined) continue;
      const finding = ledger.saw(id, event);
      if (finding !== undefined) findings.push(finding);
    }
  } catch {
    // The server went away, as it should.
  }
}

async function refuseSecond() {
  const asked = Date.now();
  const { pid, url } = { pid: stage.engram.pids.up, url: stage.url };
  const second = spawnUp(stage.dataDir);
  let words = '';
  second.stderr.on('data', (chunk) => {
    words += String(chunk);
  });
  const code = await new Promise((resolve) => second.on('close', resolve));
  refusedMs.push(Date.now() - asked);
  const clear =
    code === 1 && words.includes(`process ${pid}`) && words.includes(url) && words.includes('already_running');
  if (!clear || refusedMs.at(-1) > REFUSED_MS) {
    findings.push({ class: 'second', what: `exit code ${code} after ${refusedMs.at(-1)} ms: ${words.slice(0, 300)}` });
  }
}

async function readLog(client, id) {
  const events = [];
  for (;;) {
    const page = await client.events(id, events.at(-1)?.idx ?? 0, 1_000);
    events.push(...page.events);
    if (page.events.length < 1_000) return events;
  }
}

async function checkAll(options) {
  const client = api();
  const found = [];
  for (const id of ledger.sessionIds()) found.push(...ledger.check(id, await readLog(client, id), options));
  return found;
}

/** The last word: what was accepted reaches the agents. */
async function settle() {
  const client = api();
  const until = Date.now() + SETTLE_MS;
  const owes = async (id) => {
    const session = await client.getSession(id);
    for (const { tool_call_id, state } of session.awaiting) {
      if (state !== 'waiting') continue;
      await client.answer(id, tool_call_id, { 'Which colour?': ['Red'] });
      ledger.answered(id, tool_call_id);
    }
    return session.undelivered.length > 0 || session.awaiting.length > 0 || session.running;
  };
  for (const id of ledger.sessionIds()) while ((await owes(id)) && Date.now() < until) await pause(200);
  const found = await checkAll({ over: true });
  findings.push(...found);
  say(`${found.length === 0 ? 'ok  ' : 'FAIL'} end  everything accepted has reached its agent`);
  for (const finding of found) say(`          ${finding.class}: ${finding.what}`);
}

function report() {
  const sorted = (list) => [...list].sort((a, b) => a - b);
  const middle = (list) => sorted(list)[Math.floor(list.length / 2)];
  const classes = {};
  for (const finding of findings) classes[finding.class] = (classes[finding.class] ?? 0) + 1;
  const line = {
    at: new Date().toISOString(),
    seed: values.seed,
    rounds,
    claude: values.claude,
    commit: measuredCommit(),
    kills,
    acknowledged: ledger.counts(),
    findings,
    restart_ms: { p50: middle(restartMs), max: Math.max(...restartMs) },
    second_opener_refused_ms: { p50: middle(refusedMs), max: Math.max(...refusedMs) },
    seconds: Math.round((Date.now() - begun) / 1_000),
  };
  appendFileSync(join(repositoryRoot, 'bench/results/crash.jsonl'), `${JSON.stringify(line)}\n`);
  say(
    `${rounds} rounds in ${line.seconds} s: ${findings.length === 0 ? 'nothing lost, doubled or changed' : JSON.stringify(classes)}`,
  );
  say(JSON.stringify(line.acknowledged));
  process.exitCode = findings.length === 0 ? 0 : 1;
}
