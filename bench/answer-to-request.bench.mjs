// From the moment a person sends an answer to the model's next request, through all of Engram, beside
// the bare CLI in the same run. Rounds are interleaved: each round measures every series once, so a
// machine that gets slower slows them all, and each is measured from the same rest: no other agent runs, the
// pool of harnesses is full, and 0.7 s went by since (a processor that was just busy is faster). An agent that is
// awake beforehand waits equally long in every series, longer than what it does after its start.
//
//   cold       POST …/answers to a sleeping session
//   cold_floor spawn of the bare CLI with --resume and a hook in this process that answers at once
//   warm       POST …/answers after POST …/attend woke the session and its hook is held
//   warm_floor the bare CLI resumed beforehand, its hook held in this process, then answered
//   pinned     a process kept alive through the Agent SDK, waiting in its canUseTool, and the memory of that
//
//   npm run bench -- answer-to-request --rounds 20 --claude 2.1.332

import fs from 'node:fs';
import { parseArgs } from 'node:util';
import { createDemoModel, text, tool } from '@engram/demo-model';
import {
  claudeBinary,
  makeBareHome,
  processMemoryMb,
  questionHookSettings,
  startBareCli,
  startEngram,
  startHookServer,
  waitFor,
} from '@engram/testkit';
import { AGENT_SDK_VERSION, loadAgentSdk } from './agent-sdk.mjs';
import { quantile, record } from './record.mjs';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '20' }, claude: { type: 'string', default: '2.1.332' } },
});
const rounds = Number(values.rounds);
const bin = claudeBinary(values.claude);
const QUESTION = {
  question: 'Which database?',
  header: 'Database',
  multiSelect: false,
  options: [
    { label: 'Postgres', description: 'relational' },
    { label: 'SQLite', description: 'embedded' },
  ],
};
const ANSWER = { 'Which database?': 'Postgres' };
const BENCH = [{ blocks: [tool('AskUserQuestion', { questions: [QUESTION] })] }, { blocks: [text('done')] }];
const model = await createDemoModel({ scenarios: { BENCH }, keepRequests: 100_000 });
const REST_MS = 700;
/** Longer than a CLI takes from its start to its hook, or a harness until it is ready. */
const START_MS = 1800;
/** How long an agent that was woken beforehand waits for its answer. */
const HELD_MS = START_MS + REST_MS;
/** Harnesses that a host keeps started ahead. */
const POOL = 2;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const isResult = (line) => line.type === 'result' && line.num_turns !== 0;
const isMessageStop = (line) => JSON.stringify(line.event ?? null).includes('"message_stop"');

/** The first request after `since` that carries the answer. */
async function nextRequest(since) {
  const entry = await model.waitForRequest(
    (request) => request.at >= since && request.scenario === 'BENCH' && request.step === 1,
    30_000,
  );
  if (!JSON.stringify(entry.messages).includes('Postgres')) throw new Error('the request does not carry the answer');
  return entry.at - since;
}

let decide = async () => ({ decision: 'defer' });
const hook = await startHookServer((call) => decide(call));
const home = makeBareHome(questionHookSettings(hook.url));
const plain = makeBareHome({});
const { query } = await loadAgentSdk();
const answer = (call) => ({ decision: 'allow', updatedInput: { ...call.tool_input, answers: ANSWER } });

async function bareDeferred() {
  const cli = startBareCli({ bin, modelUrl: model.url, home });
  decide = async () => {
    await cli.wait(isMessageStop);
    return { decision: 'defer' };
  };
  cli.user('[[BENCH]]');
  const result = await cli.wait(isResult);
  await cli.end();
  return String(result.session_id);
}

async function coldFloor(resume) {
  decide = async (call) => answer(call);
  await rest();
  const since = Date.now();
  const cli = startBareCli({ bin, modelUrl: model.url, home, resume });
  const took = await nextRequest(since);
  await cli.wait(isResult);
  await cli.end();
  return took;
}

async function warmFloor(resume) {
  let release;
  const held = new Promise((resolve) => {
    decide = (call) =>
      new Promise((reply) => {
        release = () => reply(answer(call));
        resolve();
      });
  });
  await rest();
  const cli = startBareCli({ bin, modelUrl: model.url, home, resume });
  await held;
  await sleep(HELD_MS);
  const since = Date.now();
  release();
  const took = await nextRequest(since);
  await cli.wait(isResult);
  await cli.end();
  return took;
}

/** A question asked through the SDK, held in canUseTool while the process lives. */
async function pinned() {
  await rest();
  let release;
  let asked;
  const waiting = new Promise((resolve) => {
    asked = resolve;
  });
  const ended = new AbortController();
  async function* words() {
    yield { type: 'user', message: { role: 'user', content: '[[BENCH]]' }, parent_tool_use_id: null };
    // The process lives as long as its input is open.
    await new Promise((resolve) => ended.signal.addEventListener('abort', resolve));
  }
  const turn = query({
    prompt: words(),
    options: {
      pathToClaudeCodeExecutable: bin,
      cwd: plain.workspace,
      includePartialMessages: true,
      permissionMode: 'default',
      env: {
        PATH: process.env.PATH,
        HOME: plain.home,
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: 'sk-ant-made-up-0000000000000000',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
      canUseTool: (_name, input) =>
        new Promise((resolve) => {
          release = () => resolve({ behavior: 'allow', updatedInput: { ...input, answers: ANSWER } });
          asked();
        }),
    },
  });
  const over = (async () => {
    for await (const message of turn) if (message.type === 'result') ended.abort();
  })();
  await waiting;
  await sleep(HELD_MS);
  const memory = processMemoryMb(childOf(process.pid, bin));
  const since = Date.now();
  release();
  const took = await nextRequest(since);
  await over;
  return { took, memory };
}

function childOf(parent, program) {
  const pid = fs.readdirSync('/proc').find((entry) => {
    try {
      const stat = fs.readFileSync(`/proc/${entry}/stat`, 'latin1');
      const ppid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      return ppid === parent && fs.readFileSync(`/proc/${entry}/cmdline`, 'latin1').startsWith(program);
    } catch {
      return false;
    }
  });
  if (pid === undefined) throw new Error('the process of the Agent SDK was not found');
  return Number(pid);
}

const engram = await startEngram({ claudeVersion: values.claude, model, idleMs: 1000 });
const harnesses = () => engram.processTable().filter(({ kind }) => kind === 'harness').length;
async function rest() {
  await waitFor(() => engram.agents().length === 0 && harnesses() === POOL, 30_000, 'everything to rest');
  await sleep(REST_MS);
}
async function asked() {
  const session = await engram.api.createSession({ prompt: '[[BENCH]]', workspace: { kind: 'empty' } });
  await engram.api.eventsUntil(session.id, (event) => event.type === 'status_changed' && event.to === 'idle');
  const [question] = (await engram.api.getSession(session.id)).awaiting;
  return { id: session.id, callId: question.tool_call_id };
}

async function cold(session) {
  await rest();
  return answered(session);
}

async function answered({ id, callId }) {
  const since = Date.now();
  await engram.api.answer(id, callId, { [QUESTION.question]: ['Postgres'] });
  const took = await nextRequest(since);
  await engram.api.eventsUntil(
    id,
    (event, before) => event.type === 'run_completed' && before.some((each) => each.type === 'question_answered'),
  );
  await waitFor(async () => (await engram.api.getSession(id)).status === 'idle', 20_000, 'the session to sleep again');
  return took;
}

async function warm(session) {
  await rest();
  await engram.api.attend(session.id, session.callId);
  await waitFor(() => engram.agents().length === 1, 20_000, 'the agent to be awake');
  // Until its hook is held, which is not seen from here, and the place in the pool is filled again; then as long as
  // everybody rests.
  await sleep(START_MS);
  await waitFor(() => harnesses() === POOL + 1, 20_000, 'the pool to be full');
  await sleep(HELD_MS);
  return answered(session);
}

const samples = {
  cold: [],
  cold_floor: [],
  warm: [],
  warm_floor: [],
  pinned: [],
  pinned_private: [],
  pinned_resident: [],
};
try {
  // One round that is not counted: caches of the file system and of the database.
  await coldFloor(await bareDeferred());
  await cold(await asked());
  for (let round = 0; round < rounds; round += 1) {
    // Everybody asks first: what comes after a question (an exit, a filled pool) is over when it is answered.
    const sessions = [await asked(), await asked()];
    const conversations = [await bareDeferred(), await bareDeferred()];
    samples.cold_floor.push(await coldFloor(conversations[0]));
    samples.cold.push(await cold(sessions[0]));
    samples.warm_floor.push(await warmFloor(conversations[1]));
    samples.warm.push(await warm(sessions[1]));
    const live = await pinned();
    samples.pinned.push(live.took);
    samples.pinned_private.push(live.memory.private);
    samples.pinned_resident.push(live.memory.resident);
    process.stderr.write(`round ${round + 1} of ${rounds}\r`);
  }
} finally {
  await engram.stop();
  await hook.close();
  await model.close();
  home.remove();
  plain.remove();
}

const ms = (name) => ({ unit: 'ms', samples: samples[name] });
const ratio = (a, b, bound) => ({
  value: Math.round((quantile(samples[a], 0.5) / quantile(samples[b], 0.5)) * 1000) / 1000,
  of: `median ${a} / median ${b}`,
  bound,
});
record(`answer-to-request-${values.claude}`, {
  command: `npm run bench -- answer-to-request --rounds ${rounds} --claude ${values.claude}`,
  versions: { claude: values.claude, agent_sdk: AGENT_SDK_VERSION },
  series: {
    cold: ms('cold'),
    cold_floor: ms('cold_floor'),
    warm: ms('warm'),
    warm_floor: ms('warm_floor'),
    pinned: ms('pinned'),
    pinned_private: { unit: 'MB', samples: samples.pinned_private },
    pinned_resident: { unit: 'MB', samples: samples.pinned_resident },
  },
  ratios: { cold: ratio('cold', 'cold_floor', '≤ 1.10'), warm: ratio('warm', 'warm_floor', '≤ 1.25') },
});
