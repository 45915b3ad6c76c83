// Prompts, files, interrupts, failures and crashes with the real CLI over the real socket.

import { text, timesTold, tool } from '@engram/demo-model';
import { describe, expect, it } from 'vitest';
import { useSessions } from './session-fixture.js';
import { VERSIONS_TO_TEST } from './test-host.js';

const sessions = useSessions();
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.each(VERSIONS_TO_TEST)('claude %s', (version) => {
  /** What the harness does whatever the version: shown once. */
  const onNewest = it.runIf(version === '2.1.332');

  it('runs a prompt, tells what the agent says, and keeps it for the next prompt', async () => {
    const host = await sessions.open(version);
    const first = host.prompt('[[HI]] hello');
    await host.event('run_completed');
    await host.idle();
    // More than a pipe takes at once (STR-06).
    const second = host.prompt(`${'long '.repeat(60_000)}[[SAY:again]]`);
    await host.event('run_completed', 2);
    expect(host.all('run_started').map((event) => event.prompt_id)).toEqual([first, second]);
    expect(host.all('agent_message').map((event) => event.text)).toEqual(['hi there', 'again']);
    expect(host.all('run_completed').every((event) => event.ok)).toBe(true);
    expect(host.all('notice').map((event) => event.code)).toEqual(['permission_policy']);
    expect(host.stderr.split('"agent started"')).toHaveLength(2);
    expect(sessions.requestsOf(host)).toHaveLength(2);
  });

  onNewest('tells a written file without asking anybody', async () => {
    const host = await sessions.open(version);
    host.prompt('[[WRITE]] go');
    await host.event('run_completed');
    expect(host.all('file_changed')).toMatchObject([{ path: 'hello.txt' }]);
    expect(host.all('tool_call_completed')).toMatchObject([{ tool_name: 'Write', ok: true }]);
    expect(host.stderr).not.toContain('tool allowed on request');
  });

  onNewest('queues prompts while a run is open, edits and drops them, and runs each once', async () => {
    const host = await sessions.open(version);
    sessions.model.define('WAIT', [{ blocks: [text('waiting')], gateBeforeDelta: 'queue' }]);
    host.prompt('[[WAIT]] first', 'p1');
    await sessions.model.waitForGate('queue');
    await host.event('run_started');
    host.prompt('[[SAY:two]]', 'p2');
    host.prompt('[[SAY:three]]', 'p3');
    host.prompt('[[SAY:three]]', 'p3');
    host.send({ type: 'edit_queued', prompt_id: 'p2', text: '[[SAY:two edited]]' });
    host.send({ type: 'dequeue_queued', prompt_id: 'p3' });
    await host.event('prompt_dequeued');
    sessions.model.open('queue');
    await host.event('run_completed', 2);
    await host.idle();
    expect(host.all('prompt_queued').map((event) => event.prompt_id)).toEqual(['p2', 'p3']);
    expect(host.all('prompt_edited').map((event) => event.prompt_id)).toEqual(['p2']);
    expect(host.all('run_started').map((event) => event.prompt_id)).toEqual(['p1', 'p2']);
    expect(host.all('agent_message').at(-1)?.text).toBe('two edited');
    sessions.model.hold('queue');
  });

  it('interrupts a run and goes on with the next prompt', async () => {
    const host = await sessions.open(version);
    host.prompt('[[SLOW:40]] go');
    await host.until(() => host.chunks.length > 0, 'chunks');
    host.send({ type: 'interrupt' });
    await host.event('run_interrupted');
    await host.idle();
    host.prompt('[[SAY:next]]');
    await host.event('run_completed');
    expect(host.all('agent_message').at(-1)?.text).toBe('next');
    expect(host.all('notice').map((event) => event.code)).toEqual(['permission_policy']);
  });

  it('tells a failed request of the model as a failed run', async () => {
    const host = await sessions.open(version, { agentEnv: { CLAUDE_CODE_MAX_RETRIES: '0' } });
    host.prompt('[[E400]] go');
    const end = await host.event('run_completed');
    expect(end.ok).toBe(false);
    expect(host.all('notice').map((event) => event.code)).toContain('api_error');
    expect(host.all('run_started')).toHaveLength(1);
    host.prompt('[[SAY:fine]]');
    expect((await host.event('run_completed', 2)).ok).toBe(true);
  });

  it('tells a killed agent as a failed run, and starts it again for the next prompt', async () => {
    const host = await sessions.open(version);
    sessions.model.define('WAIT', [{ blocks: [text('waiting')], gateBeforeDelta: 'killed' }]);
    host.prompt('[[WAIT]] go');
    await host.event('run_started');
    for (const pid of host.agentPids()) process.kill(pid, 'SIGKILL');
    expect((await host.event('run_completed')).ok).toBe(false);
    sessions.model.open('killed');
    expect(host.all('notice').map((event) => event.code)).toContain('agent_exited');
    await host.idle();
    host.prompt('[[SAY:back]]');
    expect((await host.event('run_completed', 2)).ok).toBe(true);
    sessions.model.hold('killed');
  });

  it('says of a run that a killed agent had not written down that it is forgotten, and of no other', async () => {
    const host = await sessions.open(version);
    for (let nth = 1; nth <= 3; nth += 1) {
      host.prompt(`[[SAY:yes]] remember number ${nth}`);
      await host.event('run_completed', nth);
      if (nth > 1) for (const pid of host.agentPids()) process.kill(pid, 'SIGKILL');
    }
    await host.until(() => host.agentPids().length === 0, 'the agent to be gone');
    host.prompt('[[SAY:on]] go on');
    await host.event('run_completed', 4);
    await host.idle();
    const newest = sessions.requestsOf(host).at(-1) ?? never();
    const forgotten = host.all('notice').filter((event) => event.code === 'run_forgotten');
    const runs = host.all('run_started').slice(0, 3);
    const known = runs.map((_run, at) => timesTold(newest, `remember number ${at + 1}`) === 1);
    expect(runs.map((run) => !forgotten.some((event) => event.run_id === run.run_id))).toEqual(known);
    expect(known[0]).toBe(true);
    expect(host.all('run_started')).toHaveLength(4);
  });

  it.each(['its agent', 'agent and harness'])(
    'remembers what came after an answer when %s is killed',
    async (victim) => {
      const host = await sessions.open(version);
      host.prompt('[[ASK1]] please');
      const { tool_call_id: id } = await host.event('user_question');
      await host.idle();
      host.answer(id, { 'Which database?': ['SQLite'] });
      await host.event('run_completed', 2);
      host.prompt('[[SAY:noted]] remember this');
      await host.event('run_completed', 3);
      const lines = (): string[] => host.transcript().split('\n');
      await host.until(
        () => lines().some((line) => line.includes('"type":"assistant"') && line.includes('"noted"')),
        'the run to be written down',
      );
      const agents = host.agentPids();
      if (victim !== 'its agent') await host.killHarness();
      for (const pid of agents) process.kill(pid, 'SIGKILL');
      await host.until(() => host.agentPids().length === 0, 'the agent to be gone');
      if (victim !== 'its agent') await host.start();
      host.prompt('[[SAY:on]] go on');
      await host.event('run_completed', 4);
      const newest = sessions.requestsOf(host).at(-1) ?? never();
      expect(['"SQLite"', 'remember this', 'go on'].map((words) => timesTold(newest, words))).toEqual([1, 1, 1]);
    },
  );

  it('keeps a question through SIGKILL of everything that runs, and delivers the answer once', async () => {
    const host = await sessions.open(version);
    host.prompt('[[ASK1]] please');
    const { tool_call_id: id } = await host.event('user_question');
    // The agent is just ending: its resume marker may not be written yet.
    for (const pid of host.agentPids()) process.kill(pid, 'SIGKILL');
    await host.idle();
    await host.killHarness();
    await host.start();
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('question_answered');
    await host.event('run_completed', 2);
    const requests = sessions.requestsOf(host);
    expect(requests).toHaveLength(2);
    expect(timesTold(requests[1] ?? never(), '"SQLite"')).toBe(1);
    expect(host.all('user_question')).toHaveLength(1);
  });

  it('ends the agent that a killed harness left behind before it starts another', async () => {
    const host = await sessions.open(version);
    sessions.model.define('WAIT', [{ blocks: [text('waiting')], gateBeforeDelta: 'orphan' }]);
    host.prompt('[[WAIT]] go');
    await sessions.model.waitForGate('orphan');
    await host.event('run_started');
    const orphans = host.agentPids();
    expect(orphans.length).toBeGreaterThan(0);
    await host.killHarness();
    await host.start();
    expect(host.agentPids().filter((pid) => orphans.includes(pid))).toEqual([]);
    expect((await host.event('run_completed')).ok).toBe(false);
    sessions.model.open('orphan');
    host.prompt('[[SAY:on]]');
    expect((await host.event('run_completed', 2)).ok).toBe(true);
    sessions.model.hold('orphan');
  });

  onNewest('loses no event and tells none twice when the link is cut', async () => {
    const host = await sessions.open(version);
    host.prompt('[[BASHN:6]] go');
    for (let i = 0; i < 6; i += 1) {
      await pause(250);
      host.cutLink();
    }
    await host.event('run_completed');
    await host.idle();
    const started = host.all('tool_call_started').map((event) => event.tool_call_id);
    expect(new Set(started).size).toBe(6);
    expect(started).toHaveLength(6);
    expect(host.all('tool_call_completed')).toHaveLength(6);
    expect(host.all('run_started')).toHaveLength(1);
    expect(host.attaches).toBeGreaterThan(1);
  });

  it('tells what runs in the background while no run is open, and that it ends with the agent', async () => {
    const host = await sessions.open(version);
    const command = { command: 'sleep 300', description: 'a long watch', run_in_background: true };
    sessions.model.define('WATCH', [{ blocks: [tool('Bash', command)] }, { blocks: [text('it runs')] }]);
    host.prompt('[[WATCH]] go');
    await host.event('run_completed');
    await host.idle();
    // After the policy's.
    await host.event('notice', 2);
    const told = () => host.all('notice').filter((event) => event.code.startsWith('background_'));
    expect(told().map((event) => event.code)).toEqual(['background_running']);
    expect(told()[0]?.message).toContain('a long watch');
    expect(await host.sleep()).toBe(0);
    expect(told().map((event) => event.code)).toEqual(['background_running', 'background_stopped']);
    expect(host.agentPids()).toEqual([]);
  });

  onNewest('ends what the agent left running in the background', async () => {
    const host = await sessions.open(version);
    host.prompt('[[BASH:(setsid sleep 300 >/dev/null 2>&1 &) ; echo started]] go');
    await host.event('run_completed');
    expect(host.agentPids().length).toBeGreaterThan(1);
    expect(await host.sleep()).toBe(0);
    expect(host.agentPids()).toEqual([]);
  });
});

function never(): never {
  throw new Error('not there');
}

it('exits when another host holds the session', async () => {
  const host = await sessions.open('2.1.332');
  const exit = host.exit();
  host.refuseEpoch = 2;
  host.cutLink();
  expect(await exit).toBe(3);
});
