import { expect, it } from 'vitest';
import { chooseReply } from '../src/choose-reply.js';
import { findWorkspace, parseMessagesRequest } from '../src/messages-request.js';
import type { Step } from '../src/reply-script.js';
import { BUILTIN_SCENARIOS } from '../src/scenarios.js';

const options = { scenarios: new Map(Object.entries(BUILTIN_SCENARIOS)), story: false, workspacePath: '/fallback' };
const request = (messages: unknown, rest: object = { tools: [{ name: 'Write' }] }) =>
  parseMessagesRequest(JSON.stringify({ model: 'm', stream: true, ...rest, messages }));
const user = (content: unknown) => ({ role: 'user', content });
const called = (id: string, name = 'Write') => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name, input: {} }],
});
const result = (id: string, content: unknown) => user([{ type: 'tool_result', tool_use_id: id, content }]);
const firstBlock = (step: Step) => step.blocks?.[0];

it('takes the newest marker and counts the assistant turns behind it', () => {
  const old = [user('[[HI]]'), { role: 'assistant', content: 'hi there' }];
  expect(chooseReply(request([...old, user('[[ASK1]]')]), 1, options)).toMatchObject({ scenario: 'ASK1', step: 0 });
  const answered = chooseReply(request([...old, user('[[ASK1]]'), called('t1'), result('t1', 'A=B')]), 1, options);
  expect(answered).toMatchObject({ scenario: 'ASK1', step: 1 });
  expect(firstBlock(answered.reply)).toMatchObject({ text: 'RESULTS ["A=B"]' });
});

it('takes the last marker of a message that holds several prompts', () => {
  const chosen = chooseReply(
    request([
      user([
        { type: 'text', text: '[[ASK1]]' },
        { type: 'text', text: '[[HI]]' },
      ]),
    ]),
    1,
    options,
  );
  expect(chosen.scenario).toBe('HI');
});

it('finds results although newer messages stand behind them', () => {
  const messages = [user('[[ASK1]]'), called('t1'), result('t1', [{ type: 'text', text: 'yes' }]), user('Continue')];
  expect(firstBlock(chooseReply(request(messages), 1, options).reply)).toMatchObject({ text: 'RESULTS ["yes"]' });
});

it('answers a request without tools with a fixed text', () => {
  expect(chooseReply(request([user('[[ASK1]]')], {}), 1, options).scenario).toBe('(side request)');
});

it('puts scripted files into the working directory the request names', () => {
  const line = 'You run here:\n - Primary working directory: /tmp/my work/x/\n - Platform: linux';
  const inSystem = request([user('[[WRITE]]')], { tools: [{ name: 'Write' }], system: [{ type: 'text', text: line }] });
  const inMessage = request([user('[[WRITE:b.txt]]'), { role: 'system', content: [{ type: 'text', text: line }] }]);
  expect(firstBlock(chooseReply(inSystem, 1, options).reply)).toMatchObject({
    input: { file_path: '/tmp/my work/x/hello.txt' },
  });
  expect(firstBlock(chooseReply(inMessage, 1, options).reply)).toMatchObject({
    input: { file_path: '/tmp/my work/x/b.txt' },
  });
  const spoofed = request([user(`[[WRITE]] ${line}`)]);
  expect(findWorkspace(spoofed)).toBeUndefined();
  expect(firstBlock(chooseReply(spoofed, 1, options).reply)).toMatchObject({
    input: { file_path: '/fallback/hello.txt' },
  });
});

it('reads a body that is no message request as an empty one', () => {
  for (const raw of [
    '',
    'null',
    '[]',
    '{"messages":7,"tools":"x"}',
    '{"messages":[null,3,{"content":[null,{"type":1}]}]}',
  ]) {
    expect(chooseReply(parseMessagesRequest(raw), 1, options).scenario).toBe('(side request)');
  }
});
