// The question path with the real CLI, the real socket and a scripted model. What the model was
// told is read from its request log, never from our own events.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import {
  ask,
  DATABASE_QUESTION,
  echo,
  LANGUAGES_QUESTION,
  type StepScript,
  text,
  timesTold,
  tool,
  toolResultsOf,
} from '@engram/demo-model';
import { describe, expect, it } from 'vitest';
import { useSessions } from './session-fixture.js';
import { CLI_VERSIONS, type TestHost, VERSIONS_TO_TEST } from './test-host.js';

const sessions = useSessions();

/** Everything the model was told in its newest request. */
const lastRequest = (host: TestHost) => {
  const entry = sessions.requestsOf(host).at(-1);
  if (!entry) throw new Error('the model was never asked');
  return entry;
};

describe.each(CLI_VERSIONS)('claude %s', (version) => {
  /** What the harness does whatever the version: shown once. */
  const onNewest = it.runIf(version === '2.1.332');
  /** The same way in the harness on every version: shown on the one with the faults, on all in the matrix. */
  const onOldest = it.runIf(version === '2.1.183' || VERSIONS_TO_TEST.length > 1);

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

  onNewest('gives own words beside previews word for word, while the harness is still there (AUQ-20)', async () => {
    const preview = '```html\n<script>x()</script>\n```';
    const options = [
      { label: 'a', description: 'first', preview },
      { label: 'b', description: 'second' },
    ];
    sessions.model.define('PREVIEW', [{ blocks: [ask({ ...DATABASE_QUESTION, options })] }, echo]);
    const { host, card, id } = await parked('[[PREVIEW]] please');
    expect(card.option_previews).toEqual([[preview, '']]);
    const words = 'My own other, text';
    host.answer(id, { 'Which database?': [words] });
    await host.event('run_completed', 2);
    expect(timesTold(lastRequest(host), words)).toBe(1);
    expect(host.all('user_question')).toHaveLength(1);
  });

  onOldest('asks two questions of one message in the same words one after the other (AUQ-10)', async () => {
    const [pick, again] = [
      ['a', 'b'],
      ['c', 'd'],
    ].map((labels) =>
      ask({ ...DATABASE_QUESTION, question: 'Pick', options: labels.map((label) => ({ label, description: label })) }),
    );
    if (!pick || !again) throw new Error('no questions');
    sessions.model.define('EQUAL', [{ blocks: [pick, again] }, { blocks: [pick] }, echo]);
    const { host, card, id } = await parked('[[EQUAL]] both');
    expect(card.questions.map((one) => one.options.map((option) => option.label))).toEqual([['c', 'd']]);
    expect(host.all('notice').map((event) => event.code)).toContain('question_withdrawn');
    host.answer(id, { Pick: ['d'] });
    const second = await host.event('user_question', 2);
    expect(timesTold(lastRequest(host), '"Pick"="d"')).toBe(1);
    expect(timesTold(lastRequest(host), 'Ask it again, alone')).toBe(1);
    expect(second.questions[0]?.options.map((option) => option.label)).toEqual(['a', 'b']);
    await host.idle();
    host.answer(second.tool_call_id, { Pick: ['a'] });
    await host.event('run_completed', 3);
    expect(timesTold(lastRequest(host), '"Pick"="a"')).toBe(1);
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
    'takes back a question with a %s behind it that would wait for it, cards it when it is asked again, and one behind the call at once',
    async (name, input) => {
      const host = await sessions.open(version, { harnessEnv: { ENGRAM_BLOCKED_MS: '1500' } });
      const path = `${host.workspace}/beside.txt`;
      const call = tool(name, { ...input, ...('file_path' in input ? { file_path: path } : {}) });
      const question = ask(DATABASE_QUESTION);
      const other = ask(LANGUAGES_QUESTION);
      const last: StepScript = ({ results }) =>
        results.some((one) => one.content.includes('SQLite')) ? { blocks: [call, other] } : echo({ results });
      sessions.model.define('BEFORE', [{ blocks: [question, call] }, { blocks: [question] }, last]);
      host.prompt('[[BEFORE]] go');
      const card = await host.event('user_question');
      expect(host.all('notice').map((notice) => notice.code)).toContain('question_withdrawn');
      expect(host.all('tool_call_completed')).toMatchObject([{ tool_name: name, ok: true }]);
      await host.idle();
      host.answer(card.tool_call_id, { 'Which database?': ['SQLite'] });
      // The same call before a question: done first, then the question is asked.
      const second = await host.event('user_question', 2);
      expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
      await host.idle();
      expect(host.all('tool_call_completed').filter((event) => event.tool_name === name)).toHaveLength(2);
      host.answer(second.tool_call_id, { 'Which languages?': ['Rust'] });
      await host.event('run_completed', 3);
      expect(timesTold(lastRequest(host), '"Rust"')).toBe(1);
      expect(host.all('user_question')).toHaveLength(2);
    },
  );

  onOldest('is not poisoned by a model that is slow to end its message', async () => {
    const { host, id } = await parked('[[SLOWASK]] slowly');
    expect(sessions.requestsOf(host)).toHaveLength(1);
    expect(host.all('agent_message')).toMatchObject([{ text: 'Thinking about it. ' }]);
    host.answer(id, { 'Which database?': ['Postgres'] });
    await host.event('run_completed', 2);
    expect(sessions.requestsOf(host)).toHaveLength(2);
    expect(timesTold(lastRequest(host), '"Postgres"')).toBe(1);
    expect(timesTold(lastRequest(host), 'Tool result missing')).toBe(0);
  });

  onNewest('cards one question after the other', async () => {
    const { host, id } = await parked('[[ASKTWICE]] go');
    host.answer(id, { 'Which database?': ['SQLite'] });
    const second = await host.event('user_question', 2);
    expect(second.tool_call_id).not.toBe(id);
    await host.idle();
    host.answer(second.tool_call_id, { 'Which languages?': ['Python', 'Go'] });
    await host.event('run_completed', 3);
    expect(timesTold(lastRequest(host), 'Python, Go')).toBe(1);
  });

  onOldest('tells the agent that the user declined; asked again, it waits for the user again (AUQ-18)', async () => {
    const { host, id } = await parked('[[ASKN:5]] go');
    host.send({ type: 'dismiss_question', tool_call_id: id, reason: 'declined' });
    const second = await host.event('user_question', 2);
    expect(host.all('question_dismissed')).toMatchObject([{ tool_call_id: id, reason: 'declined' }]);
    expect(toolResultsOf(lastRequest(host))).toMatchObject([{ tool_use_id: id, is_error: true }]);
    expect(timesTold(lastRequest(host), 'The user declined to answer')).toBe(1);
    await host.idle();
    expect(second.tool_call_id).not.toBe(id);
    expect(host.agentPids()).toEqual([]);
    expect(sessions.requestsOf(host)).toHaveLength(2);
    expect(host.all('user_question')).toHaveLength(2);
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

  onOldest('wakes nobody when a waiting question is interrupted; the next prompt brings the denial along', async () => {
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

  it('starts its agent before it attaches when it is told that an answer follows', async () => {
    const { host, id } = await parked();
    host.send({ type: 'shutdown', grace_secs: 5 });
    await host.exit();
    host.ahead = { tool_call_id: id, hold_ms: 60_000 };
    await host.start();
    host.answer(id, { 'Which database?': ['SQLite'] });
    await host.event('run_completed', 2);
    expect(host.all('question_answered')).toHaveLength(1);
    expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
    expect(sessions.requestsOf(host)).toHaveLength(2);
    expect(host.stderr.split('"agent started"')).toHaveLength(3);
  });

  onNewest(
    'sleeps again when what it was told does not follow, and starts nothing for a call it does not know',
    async () => {
      const { host, id } = await parked();
      for (const ahead of [
        { tool_call_id: 'toolu_of_somebody_else', hold_ms: 60_000 },
        { tool_call_id: id, hold_ms: 300 },
      ]) {
        host.send({ type: 'shutdown', grace_secs: 5 });
        await host.exit();
        const idles = host.all('harness_idle').length;
        host.ahead = ahead;
        await host.start();
        await host.event('harness_idle', idles + 1);
        expect(host.stderr.split('"agent started"')).toHaveLength(ahead.tool_call_id === id ? 3 : 2);
      }
      expect(host.agentPids()).toEqual([]);
      expect(host.all('user_question')).toHaveLength(1);
      host.answer(id, { 'Which database?': ['SQLite'] });
      await host.event('run_completed', 2);
      expect(timesTold(lastRequest(host), '"SQLite"')).toBe(1);
    },
  );

  onOldest(
    'defers again when nobody answers within the hold, whatever timer the agent has, and takes the answer later (AUQ-13)',
    async () => {
      const host = await sessions.open(version, { agentEnv: { CLAUDE_AFK_TIMEOUT_MS: '1000' } });
      mkdirSync(`${host.home}/.claude`, { recursive: true });
      writeFileSync(`${host.home}/.claude/settings.json`, JSON.stringify({ askUserQuestionTimeout: '60s' }));
      host.prompt('[[ASK1]] please');
      const { tool_call_id: id } = await host.event('user_question');
      await host.idle();
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
    },
  );

  onNewest('tells a redelivered answer again and does nothing else', async () => {
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

  it('answers through a message when the conversation is gone, says so, and cards the next question (AUQ-03, RES-03)', async () => {
    const { host, id } = await parked();
    expect(await host.sleep()).toBe(0);
    rmSync(`${host.home}/.claude/projects`, { recursive: true });
    await host.start();
    host.answer(id, { 'Which database?': ['[[ASK1]] SQLite'] });
    await host.event('question_answered');
    const next = await host.event('user_question', 2);
    expect(next.tool_call_id).not.toBe(id);
    expect(host.all('notice').map((event) => event.code)).toContain('context_lost');
    expect(timesTold(lastRequest(host), '[[ASK1]] SQLite')).toBe(1);
    expect(timesTold(lastRequest(host), 'Which database?')).toBeGreaterThan(0);
    await host.idle();
    host.answer(next.tool_call_id, { 'Which database?': ['Postgres'] });
    await host.event('question_answered', 2);
  });

  onOldest('asks nothing when the turn is interrupted before the question could be parked', async () => {
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

  onOldest('answers a question of a subagent never: the subagent is told, the parent goes on', async () => {
    const host = await sessions.open(version);
    host.prompt(version === '2.1.183' ? '[[SUBAGENT]] go' : '[[SUBAGENT2]] go');
    await host.event('run_completed');
    await host.idle();
    expect(host.all('user_question')).toEqual([]);
    const asked = host.all('tool_call_completed').filter((event) => event.tool_name === 'AskUserQuestion');
    expect(asked).toMatchObject([{ ok: false }]);
  });
});
