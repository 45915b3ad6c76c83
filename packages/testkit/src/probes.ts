// What the question life cycle takes for granted about the CLI, one probe each: the bare CLI, a
// scripted model, an http hook in this process. A probe returns what it saw; `expect` says on which
// versions the claim is known to hold, so that a new CLI version that behaves otherwise is noticed.

import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { createDemoModel, type DemoModel, text, tool } from '@engram/demo-model';
import {
  type BareCli,
  type BareHome,
  type HookCall,
  type HookReply,
  makeBareHome,
  questionHookSettings,
  type StreamLine,
  startBareCli,
  startHookServer,
} from './bare-cli.js';

export interface ProbeResult {
  readonly holds: boolean;
  readonly saw: string;
}

export interface Probe {
  readonly name: string;
  readonly claim: string;
  run(bin: string): Promise<ProbeResult>;
}

const QUESTION = {
  question: 'Which database?',
  header: 'Database',
  multiSelect: false,
  options: [
    { label: 'Postgres', description: 'relational' },
    { label: 'SQLite', description: 'embedded' },
  ],
};
const SECOND = { ...QUESTION, question: 'Which editor?', header: 'Editor' };
const ANSWERS = { 'Which database?': 'Postgres' };
const PLACEHOLDER = 'Tool result missing due to internal error';

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const isResult = (line: StreamLine) => line.type === 'result' && line.num_turns !== 0;
const isMessageStop = (line: StreamLine) => JSON.stringify(line.event ?? null).includes('"message_stop"');

interface Stage {
  readonly model: DemoModel;
  readonly home: BareHome;
  readonly fires: readonly HookCall[];
  decide: (call: HookCall) => Promise<HookReply>;
  start(resume?: string, options?: { permissionPrompt?: boolean; args?: readonly string[] }): BareCli;
}

async function onStage<T>(
  bin: string,
  act: (stage: Stage) => Promise<T>,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<T> {
  const model = await createDemoModel({
    scenarios: {
      PROBE_ASK: [{ blocks: [tool('AskUserQuestion', { questions: [QUESTION] })] }, { blocks: [text('done')] }],
      PROBE_SLOW: [
        { blocks: [tool('AskUserQuestion', { questions: [QUESTION] })], beforeDelta: 800, beforeStop: 800 },
        { blocks: [text('narrated past the question')] },
      ],
      PROBE_BASH: [
        {
          blocks: [
            tool('AskUserQuestion', { questions: [QUESTION] }),
            tool('Bash', { command: 'sleep 0.5; echo beside', description: 'wait' }),
          ],
        },
        { blocks: [text('done')] },
      ],
      PROBE_TWO: [
        {
          blocks: [
            tool('AskUserQuestion', { questions: [QUESTION] }),
            tool('AskUserQuestion', { questions: [SECOND] }),
          ],
        },
        { blocks: [text('done')] },
      ],
    },
  });
  let decide: Stage['decide'] = async () => ({ decision: 'defer' });
  const hook = await startHookServer((call) => decide(call));
  const home = makeBareHome(questionHookSettings(hook.url, settings));
  const running: BareCli[] = [];
  const stage: Stage = {
    model,
    home,
    fires: hook.fires,
    get decide() {
      return decide;
    },
    set decide(next) {
      decide = next;
    },
    start: (resume, options = {}) => {
      const cli = startBareCli({ bin, modelUrl: model.url, home, ...(resume ? { resume } : {}), ...options });
      running.push(cli);
      return cli;
    },
  };
  try {
    return await act(stage);
  } finally {
    for (const cli of running) cli.process.kill('SIGKILL');
    await Promise.all(running.map((cli) => cli.exited));
    await hook.close();
    await model.close();
    home.remove();
  }
}

/** Defers, ends the CLI, and gives the session id of the turn that waits. */
async function deferred(stage: Stage, prompt: string, hold: (cli: BareCli) => Promise<void>): Promise<StreamLine> {
  const cli = stage.start();
  stage.decide = async () => {
    await hold(cli);
    return { decision: 'defer' };
  };
  cli.user(prompt);
  const result = await cli.wait(isResult);
  await cli.end();
  return result;
}

const untilMessageStop = async (cli: BareCli) => {
  await cli.wait(isMessageStop);
};

/** Resumes with the answer and gives the model's next request as text. */
async function answered(stage: Stage, sessionId: unknown): Promise<string> {
  const before = stage.model.requests.length;
  stage.decide = async (call) => ({ decision: 'allow', updatedInput: { ...call.tool_input, answers: ANSWERS } });
  const cli = stage.start(String(sessionId));
  await cli.wait(isResult).catch(() => undefined);
  await cli.end();
  return JSON.stringify(stage.model.requests.slice(before));
}

function carriesAnswer(request: string): boolean {
  return request.includes('Postgres') && request.includes('tool_result') && !request.includes(PLACEHOLDER);
}

export const PROBES: readonly Probe[] = [
  {
    name: 'defer-resume',
    claim:
      'a deferred question ends the turn, and a resume fires the hook again under the same id and delivers the answer',
    run: (bin) =>
      onStage(bin, async (stage) => {
        const result = await deferred(stage, '[[PROBE_ASK]]', untilMessageStop);
        const request = await answered(stage, result.session_id);
        const [first, second] = stage.fires;
        const holds =
          result.stop_reason === 'tool_deferred' &&
          first?.tool_use_id === second?.tool_use_id &&
          carriesAnswer(request);
        return {
          holds,
          saw: `stop ${String(result.stop_reason)}, fires ${stage.fires.length}, answer in request: ${carriesAnswer(request)}`,
        };
      }),
  },
  {
    name: 'early-defer',
    claim: 'a defer before message_stop makes the CLI ask the model again over a made-up error',
    run: (bin) =>
      onStage(bin, async (stage) => {
        const result = await deferred(stage, '[[PROBE_SLOW]]', () => sleep(0));
        const requests = stage.model.requests.filter((request) => request.scenario === 'PROBE_SLOW').length;
        return {
          holds: requests > 1,
          saw: `${requests} model requests, terminal_reason ${String(result.terminal_reason)}`,
        };
      }),
  },
  {
    name: 'held-defer',
    claim: 'a defer held past message_stop leaves the turn at one model request',
    run: (bin) =>
      onStage(bin, async (stage) => {
        const result = await deferred(stage, '[[PROBE_SLOW]]', untilMessageStop);
        const requests = stage.model.requests.filter((request) => request.scenario === 'PROBE_SLOW').length;
        return { holds: requests === 1 && result.stop_reason === 'tool_deferred', saw: `${requests} model requests` };
      }),
  },
  {
    name: 'beside-bash-early',
    claim: 'a defer before the result of a call beside it loses the answer on resume',
    run: (bin) =>
      onStage(bin, async (stage) => {
        const result = await deferred(stage, '[[PROBE_BASH]]', untilMessageStop);
        const request = await answered(stage, result.session_id);
        return { holds: !carriesAnswer(request), saw: `answer in request: ${carriesAnswer(request)}` };
      }),
  },
  {
    name: 'beside-bash-last',
    claim: 'a defer after the result of a call beside it keeps the answer',
    run: (bin) =>
      onStage(bin, async (stage) => {
        const result = await deferred(stage, '[[PROBE_BASH]]', async (cli) => {
          await cli.wait((line) => line.type === 'user' && JSON.stringify(line).includes('beside'));
          await sleep(100);
        });
        const request = await answered(stage, result.session_id);
        return { holds: carriesAnswer(request), saw: `answer in request: ${carriesAnswer(request)}` };
      }),
  },
  {
    name: 'two-questions',
    claim: 'with one of two questions denied, the other defers cleanly and its re-fire carries both answers',
    run: (bin) =>
      onStage(bin, async (stage) => {
        const cli = stage.start();
        let kept: string | undefined;
        stage.decide = async (call) => {
          await untilMessageStop(cli);
          kept ??= call.tool_use_id;
          if (call.tool_use_id !== kept) return { decision: 'deny', reason: 'asked together with the other question' };
          await sleep(300);
          return { decision: 'defer' };
        };
        cli.user('[[PROBE_TWO]]');
        const result = await cli.wait(isResult);
        await cli.end();
        const before = stage.model.requests.length;
        stage.decide = async () => ({
          decision: 'allow',
          updatedInput: { questions: [QUESTION, SECOND], answers: { ...ANSWERS, 'Which editor?': 'SQLite' } },
        });
        const again = stage.start(String(result.session_id));
        await again.wait(isResult);
        await again.end();
        const request = JSON.stringify(stage.model.requests.slice(before));
        const both = request.includes('Which database?') && request.includes('Which editor?') && carriesAnswer(request);
        return { holds: both && result.stop_reason === 'tool_deferred', saw: `both answers in request: ${both}` };
      }),
  },
  {
    name: 'held-resume',
    claim: 'a process killed while its re-fired hook is held loses nothing',
    run: (bin) =>
      onStage(bin, async (stage) => {
        const result = await deferred(stage, '[[PROBE_ASK]]', untilMessageStop);
        const before = stage.fires.length;
        stage.decide = () => new Promise(() => undefined);
        const held = stage.start(String(result.session_id));
        for (let waited = 0; stage.fires.length === before && waited < 20_000; waited += 20) await sleep(20);
        await sleep(300);
        held.process.kill('SIGKILL');
        await held.exited;
        const request = await answered(stage, result.session_id);
        const ids = new Set(stage.fires.map((call) => call.tool_use_id));
        return {
          holds: ids.size === 1 && carriesAnswer(request),
          saw: `${stage.fires.length} fires of ${ids.size} id, answer in request: ${carriesAnswer(request)}`,
        };
      }),
  },
  {
    name: 'hooks-stay-on',
    claim: 'disableAllHooks in the workspace is overruled by false in the file given with --settings',
    run: (bin) =>
      onStage(
        bin,
        async (stage) => {
          const folder = path.join(stage.home.workspace, '.claude');
          fs.mkdirSync(folder);
          fs.writeFileSync(path.join(folder, 'settings.json'), JSON.stringify({ disableAllHooks: true }));
          const result = await deferred(stage, '[[PROBE_ASK]]', untilMessageStop);
          return {
            holds: stage.fires.length === 1 && result.stop_reason === 'tool_deferred',
            saw: `${stage.fires.length} fires`,
          };
        },
        { disableAllHooks: false },
      ),
  },
  {
    name: 'echo-names-the-turn',
    claim: "a line's echo comes before the first whole block of its turn, and the turn of an old call has none",
    run: (bin) =>
      onStage(bin, async (stage) => {
        const result = await deferred(stage, '[[PROBE_ASK]]', untilMessageStop);
        stage.decide = async (call) => ({ decision: 'allow', updatedInput: { ...call.tool_input, answers: ANSWERS } });
        const cli = stage.start(String(result.session_id), { args: ['--replay-user-messages'] });
        const uuid = randomUUID();
        cli.send({ type: 'user', uuid, message: { role: 'user', content: '[[SAY:mine]]' }, parent_tool_use_id: null });
        await cli.wait((line) => line.type === 'assistant' && JSON.stringify(line).includes('"mine"'));
        await cli.end();
        const told = cli.lines.flatMap((line) => {
          if (line.type === 'assistant') return [JSON.stringify(line).includes('"mine"') ? 'ours' : 'own'];
          return line.type === 'user' && line.uuid === uuid ? ['echo'] : [];
        });
        return { holds: told.join() === 'own,echo,ours', saw: told.join(', ') };
      }),
  },
  {
    name: 'question-tool',
    claim: 'without --permission-prompt-tool stdio there is no question tool',
    run: (bin) =>
      onStage(bin, async (stage) => {
        const cli = stage.start(undefined, { permissionPrompt: false });
        cli.user('[[HI]]');
        const init = await cli.wait((line) => line.type === 'system' && line.subtype === 'init');
        await cli.end();
        const present = Array.isArray(init.tools) && init.tools.includes('AskUserQuestion');
        return { holds: !present, saw: `question tool ${present ? 'present' : 'absent'}` };
      }),
  },
];
