// The question path with the real CLI, the real socket and a scripted model: what the model was
// told is read from its request log, never from our own events.

import { createDemoModel, type DemoModel, type LogEntry, timesTold, toolResultsOf } from '@engram/demo-model';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CLI_VERSIONS, claudeBinary, TestHost } from './test-host.js';

let model: DemoModel;
const hosts: TestHost[] = [];
beforeAll(async () => {
  model = await createDemoModel();
});
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
});
afterAll(async () => {
  await model.close();
});

/** The model's requests of one session, side requests left out. */
function requestsOf(host: TestHost): LogEntry[] {
  return model.requests.filter((entry) => entry.workspace === host.workspace && entry.scenario !== null);
}

describe.each(CLI_VERSIONS)('claude %s', (version) => {
  const open = async (): Promise<TestHost> => {
    const host = new TestHost({ claudeBin: claudeBinary(version), modelUrl: model.url });
    hosts.push(host);
    await host.start();
    return host;
  };

  it('runs a prompt and tells what the agent says', async () => {
    const host = await open();
    const promptId = host.prompt('[[HI]] hello');
    await host.event('run_completed');
    await host.idle();
    expect(host.all('run_started')).toMatchObject([{ prompt_id: promptId, prompt_summary: '[[HI]] hello' }]);
    expect(host.all('agent_message')).toMatchObject([{ text: 'hi there', role: 'assistant' }]);
    expect(host.all('run_completed')).toMatchObject([{ ok: true }]);
    expect(requestsOf(host)).toHaveLength(1);
  });

  it('parks a question, sleeps, and goes on with the same call when it is answered', async () => {
    const host = await open();
    host.prompt('[[ASK1]] please');
    const card = await host.event('user_question');
    await host.idle();
    expect(host.agentPids()).toEqual([]);
    expect(host.types().slice(-3)).toEqual(['user_question', 'run_completed', 'harness_idle']);
    expect(await host.sleep()).toBe(0);

    await host.start();
    host.answer(card.tool_call_id, { 'Which database?': ['SQLite'] });
    await host.event('run_completed', 2);
    await host.idle();
    const answered = await host.event('question_answered');
    expect(answered).toMatchObject({ tool_call_id: card.tool_call_id, answers: { 'Which database?': ['SQLite'] } });
    const from = host.types().lastIndexOf('run_started');
    expect(host.types().slice(from, from + 2)).toEqual(['run_started', 'question_answered']);
    const last = requestsOf(host).at(-1);
    expect(requestsOf(host)).toHaveLength(2);
    expect(last && toolResultsOf(last)).toMatchObject([{ tool_use_id: card.tool_call_id, is_error: false }]);
    expect(last && timesTold(last, '"SQLite"')).toBe(1);
  });
});
