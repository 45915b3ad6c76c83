// The question path with the real CLI, the real socket and a scripted model. What the model was
// told is read from its request log, never from our own events.

import { rmSync } from 'node:fs';
import { ask, DATABASE_QUESTION, echo, text, timesTold, tool, toolResultsOf } from '@engram/demo-model';
import { describe, expect, it } from 'vitest';
import { useSessions } from './session-fixture.js';
import { CLI_VERSIONS, type TestHost } from './test-host.js';

const sessions = useSessions();

/** Everything the model was told in its newest request. */
const lastRequest = (host: TestHost) => {
  const entry = sessions.requestsOf(host).at(-1);
  if (!entry) throw new Error('the model was never asked');
  return entry;
};

describe.each(CLI_VERSIONS)('claude %s', (version) => {
  /** A session that waits for an answer, its agent gone. */
  const parked = async (prompt = '[[ASK1]] please') => {
    const host = await sessions.open(version);
    host.prompt(prompt);
    const card = await host.event('user_question');
    await host.idle();
    expect(host.agentPids()).toEqual([]);
    return { host, card, id: card.tool_call_id };
  };

  it('parks a question, sleeps, and goes on with the same call when it is answered', async () => {
    const { host, id } = await parked();
    expect(host.types().slice(-3)).toEqual(['user_question', 'run_completed', 'harness_idle']);
    expect(await host.sleep()).toBe(0);

    await host.start();
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('run_completed', 2);
    await host.idle();
    expect(host.all('question_answered')).toMatchObject([
      { tool_call_id: id, answers: { 'Which database?': ['SQLite'] } },
    ]);
    const from = host.types().lastIndexOf('run_started');
    expect(host.types().slice(from, from + 2)).toEqual(['run_started', 'question_answered']);
    expect(sessions.requestsOf(host)).toHaveLength(2);
    expect(toolResultsOf(lastRequest(host))).toMatchObject([{ tool_use_id: id, is_error: false }]);
    expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
  });

  it('answers a question while the harness is still there', async () => {
    const { host, id } = await parked();
    host.answer(id, { 'Which database?': ['Something else, please'] });
    await host.event('run_completed', 2);
    expect(timesTold(lastRequest(host), 'Something else, please')).toBe(1);
    expect(host.all('user_question')).toHaveLength(1);
  });

  it('asks the questions of one message on one card and answers all of them in one result', async () => {
    const { host, card, id } = await parked('[[PARALLEL2]] both');
    expect(host.all('user_question')).toHaveLength(1);
    expect(card.questions.map((question) => question.question)).toEqual(['Which database?', 'Which languages?']);
    host.answer(id, { 'Which database?': ['Postgres'], 'Which languages?': ['Rust', 'Go'] });
    await host.event('run_completed', 2);
    const results = toolResultsOf(lastRequest(host));
    expect(results).toHaveLength(2);
    const carried = results.find((result) => result.tool_use_id === id);
    expect(carried?.content).toContain('"Which database?"="Postgres"');
    expect(carried?.content).toContain('"Which languages?"="Rust, Go"');
    expect(sessions.requestsOf(host)).toHaveLength(2);
  });

  it.each(['PARALLEL', 'PARALLELR'])(
    'keeps the answer when a command stands beside the question (%s)',
    async (name) => {
      const { host, id } = await parked(`[[${name}]] both`);
      expect(host.all('tool_call_completed')).toMatchObject([{ tool_name: 'Bash', ok: true }]);
      host.answer(id, { 'Which database?': ['SQLite'] });
      await host.event('run_completed', 2);
      const results = toolResultsOf(lastRequest(host));
      expect(results.map((result) => result.content).join()).toContain('side-effect');
      expect(results.find((result) => result.tool_use_id === id)?.content).toContain('"SQLite"');
    },
  );

  it.each([
    ['Write', { file_path: 'beside.txt', content: 'x' }],
    ['Bash', { command: 'touch made-by-bash', description: 'make a file' }],
  ])(
    'takes back a question with a %s behind it that would wait for it, and cards it when it is asked again',
    async (name, input) => {
      const host = await sessions.open(version, { harnessEnv: { ENGRAM_BLOCKED_MS: '1500' } });
      const path = `${host.workspace}/beside.txt`;
      const call = tool(name, { ...input, ...('file_path' in input ? { file_path: path } : {}) });
      const question = ask(DATABASE_QUESTION);
      sessions.model.define('BEFORE', [{ blocks: [question, call] }, { blocks: [question] }, echo]);
      host.prompt('[[BEFORE]] go');
      const card = await host.event('user_question');
      expect(host.all('notice').map((notice) => notice.code)).toContain('question_withdrawn');
      expect(host.all('tool_call_completed')).toMatchObject([{ tool_name: name, ok: true }]);
      await host.idle();
      host.answer(card.tool_call_id, { 'Which database?': ['SQLite'] });
      await host.event('run_completed', 2);
      expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
      expect(host.all('user_question')).toHaveLength(1);
    },
  );

  it('is not poisoned by a model that is slow to end its message', async () => {
    const { host, id } = await parked('[[SLOWASK]] slowly');
    expect(sessions.requestsOf(host)).toHaveLength(1);
    expect(host.all('agent_message')).toMatchObject([{ text: 'Thinking about it. ' }]);
    host.answer(id, { 'Which database?': ['Postgres'] });
    await host.event('run_completed', 2);
    expect(sessions.requestsOf(host)).toHaveLength(2);
    expect(timesTold(lastRequest(host), '"Postgres"')).toBe(1);
    expect(timesTold(lastRequest(host), 'Tool result missing')).toBe(0);
  });

  it('cards one question after the other', async () => {
    const { host, id } = await parked('[[ASKTWICE]] go');
    host.answer(id, { 'Which database?': ['SQLite'] });
    const second = await host.event('user_question', 2);
    expect(second.tool_call_id).not.toBe(id);
    await host.idle();
    host.answer(second.tool_call_id, { 'Which languages?': ['Python', 'Go'] });
    await host.event('run_completed', 3);
    expect(timesTold(lastRequest(host), 'Python, Go')).toBe(1);
  });

  it('tells the agent that the user declined', async () => {
    const { host, id } = await parked();
    host.send({ type: 'dismiss_question', tool_call_id: id, reason: 'declined' });
    await host.event('run_completed', 2);
    expect(host.all('question_dismissed')).toMatchObject([{ tool_call_id: id, reason: 'declined' }]);
    expect(toolResultsOf(lastRequest(host))).toMatchObject([{ tool_use_id: id, is_error: true }]);
    expect(timesTold(lastRequest(host), 'The user declined to answer')).toBe(1);
    expect(sessions.requestsOf(host)).toHaveLength(2);
  });

  it('passes a prompt on as the reply when it supersedes the question', async () => {
    const { host, id } = await parked();
    const promptId = host.prompt('Use plain files, no database.');
    await host.event('run_completed', 2);
    expect(host.all('question_dismissed')).toMatchObject([{ tool_call_id: id, reason: 'superseded' }]);
    expect(host.all('run_started').at(-1)).toMatchObject({ prompt_id: promptId });
    expect(timesTold(lastRequest(host), 'Use plain files, no database.')).toBe(1);
    expect(sessions.requestsOf(host)).toHaveLength(2);
    await host.idle();
    host.prompt('[[ASK1]] again');
    const next = await host.event('user_question', 2);
    expect(next.tool_call_id).not.toBe(id);
  });

  it('wakes nobody when a waiting question is interrupted; the next prompt brings the denial along', async () => {
    const { host, id } = await parked();
    host.send({ type: 'interrupt' });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(host.agentPids()).toEqual([]);
    const promptId = host.prompt('Now do it another way.');
    await host.event('run_completed', 2);
    expect(host.all('question_dismissed')).toMatchObject([{ tool_call_id: id, reason: 'interrupted' }]);
    expect(host.all('run_started').at(-1)).toMatchObject({ prompt_id: promptId });
    expect(timesTold(lastRequest(host), 'Now do it another way.')).toBe(1);
    expect(sessions.requestsOf(host)).toHaveLength(2);
  });

  it('wakes ahead of the answer and gives it to the held hook', async () => {
    const { host, id } = await parked();
    host.send({ type: 'attend_question', tool_call_id: id, hold_ms: 60_000 });
    await host.until(() => host.stderr.split('"hook fired"').length > 2, 'second fire');
    expect(host.all('run_started')).toHaveLength(1);
    const at = Date.now();
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('question_answered');
    expect(Date.now() - at).toBeLessThan(1500);
    await host.event('run_completed', 2);
    expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
  });

  it('defers again when nobody answers within the hold, and takes the answer later', async () => {
    const { host, id } = await parked();
    const before = host.all('harness_idle').length;
    host.send({ type: 'attend_question', tool_call_id: id, hold_ms: 2500 });
    await host.until(() => host.agentPids().length > 0, 'agent');
    await host.event('harness_idle', before + 1);
    expect(host.agentPids()).toEqual([]);
    expect(host.all('user_question')).toHaveLength(1);
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('run_completed', 2);
    expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
    expect(sessions.requestsOf(host)).toHaveLength(2);
  });

  it('tells a redelivered answer again and does nothing else', async () => {
    const { host, id } = await parked();
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('run_completed', 2);
    await host.idle();
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('question_answered', 2);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(sessions.requestsOf(host)).toHaveLength(2);
    expect(host.all('run_started')).toHaveLength(2);
  });

  it('answers through a message when the conversation is gone, and cards the next question', async () => {
    const { host, id } = await parked();
    expect(await host.sleep()).toBe(0);
    rmSync(`${host.home}/.claude/projects`, { recursive: true });
    await host.start();
    host.answer(id, { 'Which database?': ['[[ASK1]] SQLite'] });
    await host.event('question_answered');
    const next = await host.event('user_question', 2);
    expect(next.tool_call_id).not.toBe(id);
    expect(timesTold(lastRequest(host), '[[ASK1]] SQLite')).toBe(1);
    expect(timesTold(lastRequest(host), 'Which database?')).toBeGreaterThan(0);
    await host.idle();
    host.answer(next.tool_call_id, { 'Which database?': ['Postgres'] });
    await host.event('question_answered', 2);
  });

  it('asks nothing when the turn is interrupted before the question could be parked', async () => {
    const host = await sessions.open(version);
    sessions.model.define('STUCK', [
      { blocks: [text('One moment. '), ask(DATABASE_QUESTION)], gateBeforeDelta: 'stuck' },
      echo,
    ]);
    host.prompt('[[STUCK]] go');
    await sessions.model.waitForGate('stuck');
    await host.event('run_started');
    host.send({ type: 'interrupt' });
    await host.event('run_interrupted');
    await host.idle();
    expect(host.all('user_question')).toEqual([]);
    host.prompt('[[ASK1]] now');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('question_answered');
    await host.event('run_completed', 2);
    expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
  });

  it('answers a question of a subagent never: the subagent is told, the parent goes on', async () => {
    const host = await sessions.open(version);
    host.prompt(version === '2.1.183' ? '[[SUBAGENT]] go' : '[[SUBAGENT2]] go');
    await host.event('run_completed');
    expect(host.all('user_question')).toEqual([]);
  });
});
