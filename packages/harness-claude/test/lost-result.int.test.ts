// An agent killed right after its stream showed the answered question's result has not written that
// result to its conversation. What the model knows is read from its request log.

import { ask, DATABASE_QUESTION, text, timesTold, tool } from '@engram/demo-model';
import { describe, expect, it } from 'vitest';
import { useSessions } from './session-fixture.js';
import { CLI_VERSIONS, type TestHost, VERSIONS_TO_TEST } from './test-host.js';

const sessions = useSessions();
const FAILED_OPEN = /Tool permission request failed|Error calling tool/;
const ANSWER = { 'Which database?': ['SQLite'] };

describe.each(CLI_VERSIONS)('claude %s', (version) => {
  const onNewest = it.runIf(version === '2.1.332' || VERSIONS_TO_TEST.length > 1);
  /** Its echo comes late, so that it has the harder case. */
  const onOldest = it.runIf(version === '2.1.183' || VERSIONS_TO_TEST.length > 1);

  /** Answered from sleep; its agent is killed as soon as the log has the answer, the model still silent. */
  const killedAtItsAnswer = async (before: (host: TestHost) => void = () => {}) => {
    const host = await sessions.open(version);
    sessions.model.define('THINKS', [
      { blocks: [ask(DATABASE_QUESTION)] },
      { beforeStart: 900, blocks: [text('thank you')] },
    ]);
    host.prompt('[[THINKS]] please', 'p1');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    host.answer(id, ANSWER);
    const { run_id: run } = await host.event('question_answered');
    before(host);
    for (const pid of host.agentPids()) process.kill(pid, 'SIGKILL');
    // On a slow machine it may have been quicker than we: then this was not the case to look at.
    const kept = host
      .transcript()
      .split('\n')
      .some((line) => line.includes('"tool_result"') && line.includes(`"tool_use_id":"${id}"`));
    return { host, id, run, kept };
  };

  onNewest('goes on in the same run: the model gets the answer without another prompt', async () => {
    let scene = await killedAtItsAnswer();
    for (let tries = 1; scene.kept && tries < 4; tries += 1) scene = await killedAtItsAnswer();
    const { host, run } = scene;
    expect(await host.event('run_completed', 2)).toMatchObject({ run_id: run, ok: true });
    await host.idle();
    const newest = sessions.requestsOf(host).at(-1);
    expect(newest && timesTold(newest, '"SQLite"')).toBe(1);
    expect(host.all('question_answered')).toHaveLength(1);
    expect(host.all('run_started')).toHaveLength(2);
    expect(host.all('notice').map((event) => event.code)).toContain('answer_repeated');
  });

  onNewest('goes on after its harness was killed with it', async () => {
    const { host, run } = await killedAtItsAnswer();
    await host.killHarness();
    await host.start();
    expect(await host.event('run_completed', 2)).toMatchObject({ run_id: run, ok: true });
    const newest = sessions.requestsOf(host).at(-1);
    expect(newest && timesTold(newest, '"SQLite"')).toBe(1);
    expect(host.all('question_answered')).toHaveLength(1);
  });

  it('is asked again when its harness died while it held the hook of an attended question', async () => {
    const host = await sessions.open(version);
    sessions.model.define('HELD', [{ blocks: [ask(DATABASE_QUESTION)] }, { blocks: [text('thank you')] }]);
    host.prompt('[[HELD]] please', 'p1');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    host.send({ type: 'attend_question', tool_call_id: id, hold_ms: 60_000 });
    await host.until(() => host.stderr.split('"hook fired"').length > 2, 'the held hook');
    await host.killHarness();
    // The agent asks nobody, and takes that for the result.
    await host.until(() => FAILED_OPEN.test(host.transcript()), 'the failure in the conversation');
    await host.start();
    host.answer(id, ANSWER);
    // Long before the watchdog of an agent that stays silent.
    await host.until(() => host.all('question_answered').length === 1, 'the answer', 15_000);
    await host.event('run_completed', 2);
    const newest = sessions.requestsOf(host).at(-1);
    expect(newest && timesTold(newest, '"SQLite"')).toBe(1);
    expect(JSON.stringify(newest?.messages)).not.toMatch(FAILED_OPEN);
    expect(host.all('user_question')).toHaveLength(1);
    expect(host.all('agent_message').filter((event) => event.text === 'thank you')).toHaveLength(1);
  });

  onOldest('ties the next prompt to its own turn, not to the old one that a resumed agent ends first', async () => {
    // A run that is to stop is not taken up again: its question fires at the next resume.
    const { host, run } = await killedAtItsAnswer((at) => at.send({ type: 'interrupt' }));
    expect(await host.event('run_interrupted')).toMatchObject({ run_id: run });
    await host.idle();
    host.prompt('[[SAY:next]] go on', 'p2');
    await host.until(() => host.all('run_started').some((event) => event.prompt_id === 'p2'), 'run of p2');
    const own = host.all('run_started').at(-2);
    expect(own).not.toHaveProperty('prompt_id');
    expect(host.all('run_completed').at(-1)).toMatchObject({ run_id: own?.run_id, ok: true });
    await host.idle();
    const p2 = host.all('run_started').at(-1)?.run_id;
    expect(
      host
        .all('agent_message')
        .filter((event) => event.run_id === p2)
        .map((event) => event.text),
    ).toEqual(['next']);
    const newest = sessions.requestsOf(host).at(-1);
    expect(newest && [timesTold(newest, '"SQLite"'), timesTold(newest, 'go on')]).toEqual([1, 1]);
  });
});

it('claude 2.1.332: a harness killed with a first hook leaves no word of a user', async () => {
  const host = await sessions.open('2.1.332');
  const slow = tool('Bash', { command: 'sleep 20', description: 'x' });
  sessions.model.define('HELD', [{ blocks: [ask(DATABASE_QUESTION), slow] }]);
  host.prompt('[[HELD]] go', 'p1');
  await host.until(() => host.stderr.includes('"hook fired"'), 'hook fired');
  await host.event('run_started');
  await host.killHarness();
  await host.until(() => host.transcript().includes('to proceed'), 'the false record');
  await host.start();
  expect((await host.event('run_completed')).ok).toBe(false);
  host.prompt('[[SAY:on]] next', 'p2');
  await host.event('run_completed', 2);
  const newest = JSON.stringify(sessions.requestsOf(host).at(-1)?.messages);
  expect(newest).not.toMatch(/to proceed|rejected|interrupted by user/);
  expect(newest).toContain('has not seen it and has decided nothing');
});

it.each(CLI_VERSIONS)(
  'claude %s: a prompt written while the agent works on its own has its own run',
  async (version) => {
    const host = await sessions.open(version);
    sessions.model.define('TASK', [
      { blocks: [tool('Bash', { command: 'sleep 1', description: 'x', run_in_background: true })] },
      { blocks: [text('it runs')] },
      { blocks: [text('the task is over '.repeat(8))], chunk: 8, delay: 60 },
    ]);
    host.prompt('[[TASK]] go', 'p1');
    await host.event('run_completed');
    await host.until(
      () => host.chunks.some((chunk) => chunk.chunk.includes('over') || chunk.chunk.includes('task')),
      'own turn',
    );
    host.prompt('[[SAY:mine]]', 'p2');
    await host.event('run_completed', 3);
    await host.idle();
    expect(host.all('run_started').map((event) => event.prompt_id)).toEqual(['p1', undefined, 'p2']);
  },
);
