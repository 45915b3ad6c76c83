// What happens when prevention fails: the agent goes on past its parked question. Text behind the
// question is not told, one card stays, the conversation is repaired, and the answer is in the
// model's next request, once; where it cannot be repaired, the answer goes out as a message.

import {
  ask,
  DATABASE_QUESTION,
  echo,
  LANGUAGES_QUESTION,
  type StepScript,
  text,
  timesTold,
  tool,
} from '@engram/demo-model';
import { describe, expect, it } from 'vitest';
import { useSessions } from './session-fixture.js';
import { type TestHost, VERSIONS_TO_TEST } from './test-host.js';

const sessions = useSessions();
const PLACEHOLDER = 'Tool result missing';
const SAID = 'There was an internal error retrieving your answer.';

/** Asks slowly; then, told that the result is missing, does `past`; told the answer, asks something else. */
function asksAnd(past: StepScript): readonly StepScript[] {
  return [
    { blocks: [text('Before. '), ask(DATABASE_QUESTION)], beforeDelta: 400, beforeStop: 400 },
    (context) => {
      const missing = context.results.some((result) => result.content.includes(PLACEHOLDER));
      if (missing) return typeof past === 'function' ? past(context) : past;
      return { blocks: [ask(LANGUAGES_QUESTION)] };
    },
    (context) => {
      const denied = context.results.some((result) => result.content.includes('still open'));
      return denied ? { blocks: [text(SAID)] } : echo(context);
    },
    echo,
  ];
}

const newRequests = (host: TestHost, since: number) => sessions.requestsOf(host).slice(since);

/** The first request after the answer carries it; no later one carries it anew. */
async function answerReaches(host: TestHost, id: string, words: string): Promise<void> {
  await host.idle();
  expect(host.agentPids()).toEqual([]);
  const before = sessions.requestsOf(host).length;
  host.answer(id, { 'Which database?': [words] });
  await host.event('question_answered');
  await host.until(() => sessions.requestsOf(host).length > before, 'request with the answer');
  const [first] = newRequests(host, before);
  if (!first) throw new Error('no request');
  expect(timesTold(first, words)).toBe(1);
}

/** When it counts as delivered, the model's request with it is there; and the next question has a card. */
async function answerComesByMessage(host: TestHost, id: string): Promise<void> {
  const before = sessions.requestsOf(host).length;
  host.answer(id, { 'Which database?': ['[[ASK1]] SQLite'] });
  await host.event('question_answered');
  const told = newRequests(host, before).map((entry) => timesTold(entry, 'SQLite'));
  expect(told.at(-1)).toBe(1);
  expect(told.slice(0, -1).every((times) => times === 0)).toBe(true);
  const second = await host.event('user_question', 2);
  expect(second.tool_call_id).not.toBe(id);
  await host.idle();
  expect(host.all('run_started')).toHaveLength(2);
  expect(host.all('question_answered')).toHaveLength(1);
}

/** The question that the model asks next has a card and can be answered. */
async function nextQuestionIsCarded(host: TestHost, id: string): Promise<void> {
  const second = await host.event('user_question', 2);
  expect(second.tool_call_id).not.toBe(id);
  await host.idle();
  host.answer(second.tool_call_id, { 'Which languages?': ['Go'] });
  await host.event('question_answered', 2);
  await host.idle();
  const last = sessions.requestsOf(host).at(-1);
  if (!last) throw new Error('no request');
  expect(timesTold(last, 'Go')).toBeGreaterThan(0);
  expect(host.all('user_question')).toHaveLength(2);
  expect(host.all('question_answered')).toHaveLength(2);
}

describe('claude 2.1.183, its question deferred before its message ended', () => {
  it('tells nothing it said past the question, and repairs the conversation for the answer', async () => {
    sessions.model.define('POISON', asksAnd({ blocks: [text(SAID)] }));
    const host = await sessions.open('2.1.183', { bent: { earlyStop: true } });
    host.prompt('[[POISON]] go');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    expect(sessions.requestsOf(host)).toHaveLength(2);
    expect(host.transcript()).not.toContain(SAID);
    expect(host.all('agent_message').map((event) => event.text)).toEqual(['Before. ']);
    expect(host.chunks.map((event) => event.chunk).join('')).not.toContain(SAID);
    expect(host.stderr).toContain('"result":"mended"');
    await answerReaches(host, id, 'SQLite');
    await nextQuestionIsCarded(host, id);
    expect(
      sessions
        .requestsOf(host)
        .slice(2)
        .some((entry) => timesTold(entry, PLACEHOLDER) > 0),
    ).toBe(false);
  });

  it('makes no card of the same question asked again, in the run or after the next wake', async () => {
    sessions.model.define('DOUBLE', asksAnd({ blocks: [text('Once more. '), ask(DATABASE_QUESTION)] }));
    const host = await sessions.open('2.1.183', { bent: { earlyStop: true } });
    host.prompt('[[DOUBLE]] go');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    expect(host.all('user_question')).toHaveLength(1);
    expect(host.transcript()).not.toContain('Once more.');
    expect(await host.sleep()).toBe(0);
    await host.start();
    await answerReaches(host, id, 'SQLite');
    await nextQuestionIsCarded(host, id);
  });

  it.each([
    ['was torn by a crash', { earlyStop: true, tear: true }, { blocks: [text(SAID)] }],
    [
      'holds work done past the question',
      { earlyStop: true },
      { blocks: [tool('Bash', { command: 'echo did', description: 'd' })] },
    ],
  ])('answers through a message when the conversation %s', async (_how, bent, past) => {
    sessions.model.define('BEYOND', asksAnd(past));
    const host = await sessions.open('2.1.183', { bent });
    host.prompt('[[BEYOND]] go');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    expect(await host.sleep()).toBe(0);
    host.bent = undefined;
    await host.start();
    await answerComesByMessage(host, id);
    expect(host.all('agent_message').map((event) => event.text)).toEqual(['Before. ']);
  });
});

describe.each(VERSIONS_TO_TEST)('claude %s, a background task of it ending after the defer', (version) => {
  it('opens no run and tells nothing of what it went on with, and gets the answer once', async () => {
    const narrated = { blocks: [text(SAID)] };
    sessions.model.define('BACKGROUND', [
      { blocks: [tool('Bash', { command: 'sleep 2.5; echo bg', description: 'bg', run_in_background: true })] },
      { blocks: [text('Before. '), ask(DATABASE_QUESTION)] },
      ({ results }) =>
        results.some((one) => one.content.includes('SQLite')) ? { blocks: [ask(LANGUAGES_QUESTION)] } : narrated,
      echo,
    ]);
    const host = await sessions.open(version, {
      bent: { holdStdinMs: 60_000 },
    });
    host.prompt('[[BACKGROUND]] go');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    expect(sessions.requestsOf(host).length).toBeGreaterThan(2);
    expect(host.all('run_started')).toHaveLength(1);
    expect(host.all('agent_message').map((event) => event.text)).toEqual(['Before. ']);
    host.bent = undefined;
    expect(await host.sleep()).toBe(0);
    await host.start();
    await answerReaches(host, id, 'SQLite');
    await nextQuestionIsCarded(host, id);
  });
});

describe.each(VERSIONS_TO_TEST)('claude %s, its hook fired after it was taken for silent', (version) => {
  it('counts the answer as delivered by the request that holds it, not by the turn of the late hook', async () => {
    sessions.model.define('LATE', [{ blocks: [ask(DATABASE_QUESTION)] }, echo]);
    const host = await sessions.open(version, { harnessEnv: { ENGRAM_HOOK_SILENCE_MS: '30' } });
    host.prompt('[[LATE]] go');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    await answerComesByMessage(host, id);
    expect(host.stderr).toContain('"decision":"deny"');
  });

  it('tells at once that the request with its message failed, and the next prompt has the answer', async () => {
    const refused = { error: { status: 400, type: 'invalid_request_error', message: 'scripted', headers: {} } };
    sessions.model.define('REFUSED', [{ blocks: [ask(DATABASE_QUESTION)] }, refused]);
    const host = await sessions.open(version, {
      harnessEnv: { ENGRAM_HOOK_SILENCE_MS: '30' },
      agentEnv: { CLAUDE_CODE_MAX_RETRIES: '0' },
    });
    host.prompt('[[REFUSED]] go');
    const { tool_call_id: id } = await host.event('user_question');
    await host.idle();
    host.answer(id, { 'Which database?': ['SQLite'] });
    // Far below the minute of a watchdog.
    expect((await host.event('run_completed', 2, 20_000)).ok).toBe(false);
    expect(host.all('question_answered')).toHaveLength(1);
    host.prompt('[[SAY:on]] next');
    await host.event('run_completed', 3);
    const newest = sessions.requestsOf(host).at(-1);
    expect(newest && timesTold(newest, 'SQLite')).toBe(1);
  });
});
