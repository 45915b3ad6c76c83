// The whole path below the public door: real coordinator and PostgreSQL, the real harness, the real
// CLI at both pinned versions, a scripted model.

import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createDemoModel, DATABASE_QUESTION, type DemoModel, timesTold, toolResultsOf } from '@engram/demo-model';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startHostAgent } from '../src/host-agent.js';
import { harnesses, isProcessAlive, OWNER, openStack, type Stack, type TestHost, types } from './host-fixture.js';

const HARNESS = [process.execPath, fileURLToPath(new URL('../../harness-claude/dist/main.js', import.meta.url)), 'run'];
const SLOW_MS = 40_000;

let stack: Stack;
beforeAll(async () => {
  stack = await openStack();
});
afterAll(() => stack.close());

/** Processes that run the agent's program. */
async function agents(claude: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const program = await readlink(`/proc/${name}/exe`).catch(() => undefined);
    if (program !== claude) continue;
    const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
    // Only those of this test: others may run agents of their own on this machine.
    if (environment.includes(stack.base) && (await isProcessAlive(Number(name)))) found.push(Number(name));
  }
  return found;
}

describe.each(process.env.ENGRAM_TEST_MATRIX === '1' ? ['2.1.183', '2.1.332'] : ['2.1.332'])(
  'with the agent %s',
  (version) => {
    const claude = fileURLToPath(
      new URL(
        `../../../agents/claude-${version}/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
        import.meta.url,
      ),
    );
    let model: DemoModel;
    let host: TestHost;

    const more = () => ({
      harnessCommand: HARNESS,
      resolveClaude: () => Promise.resolve({ ok: true, path: claude, version } as const),
      demoModelUrl: model.url,
      idleMs: 600_000,
      timings: { refillDelayMs: 300, policy: { killAfterMs: 7_000, graceSecs: 5 } },
    });
    beforeEach(async () => {
      model = await createDemoModel();
      host = await stack.startHost(more());
    });
    afterEach(async () => {
      await host.agent.close();
      await model.close();
    });

    const create = (prompt: string) => stack.createSession(prompt, { model: 'engram-demo' });
    const assigned = async () => (await harnesses(host.dataDir)).filter((each) => each.sessionId !== undefined);
    const answer = (id: string, toolCallId: string) =>
      stack.coordinator.acceptAnswer(id, {
        tool_call_id: toolCallId,
        answers: { [DATABASE_QUESTION.question]: ['SQLite'] },
        by: OWNER,
      });
    async function waitForQuestion(id: string): Promise<string> {
      const asleep = await stack.untilStatus(id, 'idle', SLOW_MS);
      return asleep.awaiting[0]?.tool_call_id ?? '';
    }

    it('a prompt becomes events in the log, with the file it changed', async () => {
      const { id } = await create('[[WRITE]]');
      await stack.untilEvent(id, 'harness_idle', 1, SLOW_MS);
      const events = types(await stack.events(id)).filter((type) => type !== 'notice');
      const order = ['run_started', 'tool_call_started', 'tool_call_completed', 'agent_message', 'run_completed'];
      expect(events.filter((type) => order.includes(type))).toEqual(order);
      expect(await stack.untilEvent(id, 'file_changed')).toMatchObject({ path: 'hello.txt' });
      const file = join(host.dataDir, 'sessions', id, 'workspace', 'hello.txt');
      expect(await readFile(file, 'utf8')).toBe('hello\nworld\n');
      expect(await agents(claude)).toHaveLength(1);
      await stack.coordinator.sleep(id);
      await stack.untilStatus(id, 'idle');
      expect(await agents(claude)).toEqual([]);
    });

    it('a waiting question has no agent and no harness, and its answer reaches the model once', async () => {
      const { id } = await create('[[ASK1]]');
      await stack.until('one agent runs', async () => (await agents(claude)).length === 1, SLOW_MS);
      const toolCallId = await waitForQuestion(id);
      expect(await agents(claude)).toEqual([]);
      expect(await assigned()).toEqual([]);
      const begun = performance.now();
      const woken = model.waitForRequest(
        (entry) => toolResultsOf(entry).some((result) => result.tool_use_id === toolCallId),
        SLOW_MS,
      );
      expect((await answer(id, toolCallId)).ok).toBe(true);
      const request = await woken;
      console.log(`${version}: answer stored → next model request ${Math.round(performance.now() - begun)} ms`);
      expect(timesTold(request, 'SQLite')).toBe(1);
      await stack.untilEvent(id, 'question_answered');
      await stack.untilEvent(id, 'run_completed', 2);
      const events = types(await stack.events(id));
      const answered = events.indexOf('question_answered');
      expect(events.slice(answered - 2, answered)).toEqual(['status_changed', 'run_started']);
      expect((await stack.coordinator.getSession(id))?.awaiting).toEqual([]);
    });

    it('a harness killed in mid-run is followed by one that ends the agent and finishes the work', async () => {
      const { id } = await create('[[GATE:held]]');
      await model.waitForGate('held', SLOW_MS);
      const [harness] = await assigned();
      const [agent] = await agents(claude);
      process.kill(harness?.pid ?? 0, 'SIGKILL');
      await stack.until('old agent gone', async () => !(await isProcessAlive(agent ?? 0)));
      model.open('held');
      await stack.prompt(id, '[[HI]]');
      await stack.until(
        'the next prompt is done',
        async () =>
          (await stack.events(id)).some(
            (event) => event.type === 'agent_message' && 'text' in event && event.text === 'hi there',
          ),
        SLOW_MS,
      );
      expect((await agents(claude)).length).toBeLessThanOrEqual(1);
      const starts = (await stack.events(id)).filter((event) => event.type === 'run_started' && 'prompt_id' in event);
      expect(new Set(starts.map((event) => ('prompt_id' in event ? event.prompt_id : ''))).size).toBe(starts.length);
    });

    it('a question asked on one host life is answered in the next', async () => {
      const { id } = await create('[[ASK1]]');
      const toolCallId = await waitForQuestion(id);
      await host.agent.close();
      expect(await harnesses(host.dataDir)).toEqual([]);
      await answer(id, toolCallId);
      await sleep(100);
      const agent = await startHostAgent(stack.options({ dataDir: host.dataDir, runDir: host.runDir }, more()));
      try {
        await stack.untilEvent(id, 'question_answered', 1, SLOW_MS);
        await stack.untilEvent(id, 'run_completed', 2, SLOW_MS);
      } finally {
        await agent.close();
      }
      expect((await stack.coordinator.getSession(id))?.status).toBe('idle');
      expect(await agents(claude)).toEqual([]);
    });

    it('a host that closes in mid-run leaves no process and an interrupted run', async () => {
      const { id } = await create('[[BASH:sleep 30]]');
      await stack.untilEvent(id, 'tool_call_started', 1, SLOW_MS);
      const begun = Date.now();
      await host.agent.close();
      expect(Date.now() - begun).toBeLessThan(10_000);
      expect(await agents(claude)).toEqual([]);
      expect(await harnesses(host.dataDir)).toEqual([]);
      const session = await stack.coordinator.getSession(id);
      expect(session).toMatchObject({ running: false, status: 'idle' });
    });

    it('attending wakes the session ahead of the answer', async () => {
      const { id } = await create('[[ASK1]]');
      const toolCallId = await waitForQuestion(id);
      await stack.coordinator.attendQuestion(id, toolCallId, 60_000);
      await stack.until('agent awake', async () => (await agents(claude)).length === 1, SLOW_MS);
      await sleep(3_000);
      expect(await stack.coordinator.getSession(id)).toMatchObject({ status: 'active', running: false });
      const begun = performance.now();
      const woken = model.waitForRequest((entry) => toolResultsOf(entry).some((r) => r.tool_use_id === toolCallId));
      await answer(id, toolCallId);
      await woken;
      console.log(`${version}: attended answer → next model request ${Math.round(performance.now() - begun)} ms`);
      await stack.untilEvent(id, 'question_answered');
    });
  },
);
