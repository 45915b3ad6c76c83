// The translation of the real CLI's live stream, with partial messages: chunks and messages agree,
// file changes tell what is on disk, failures are told as notices.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask, createDemoModel, type DemoModel, text, thinking, tool } from '@engram/demo-model';
import type { FileChanged, HarnessEvent } from '@engram/harness-proto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ClaudeMessage, ClaudeResult } from '../src/claude-message.js';
import { initialTranslateState, translate } from '../src/translate.js';
import { openStage, type Stage } from './bare-claude.js';
import { VERSIONS_TO_TEST } from './test-host.js';

const QUESTION = {
  question: 'Which?',
  header: 'Which',
  multiSelect: false,
  options: [
    { label: 'A', description: 'a' },
    { label: 'B', description: 'b' },
  ],
};
const isResult = (message: ClaudeMessage): message is ClaudeResult => message.type === 'result';

let model: DemoModel;
let stage: Stage | undefined;

beforeAll(async () => {
  model = await createDemoModel({
    scenarios: {
      FILES: [
        ({ workspace }) => ({
          chunk: 3,
          blocks: [
            thinking('let me see'),
            text('First I make a file. 🦀'),
            tool('Write', { file_path: `${workspace}/new.txt`, content: 'a\r\nb\r\nlast' }),
            text('Then a second one.'),
            tool('Edit', { file_path: `${workspace}/made.txt`, old_string: '', new_string: 'made\nby edit\n' }),
          ],
        }),
        ({ workspace }) => ({ blocks: [tool('Read', { file_path: `${workspace}/crlf.txt` })] }),
        ({ workspace }) => ({
          blocks: [tool('Edit', { file_path: `${workspace}/crlf.txt`, old_string: 'two', new_string: 'TWO' })],
        }),
        ({ workspace }) => ({
          blocks: [tool('Edit', { file_path: `${workspace}/crlf.txt`, old_string: 'absent', new_string: 'x' })],
        }),
        { blocks: [text('done')] },
      ],
      REFUSED: [{ blocks: [ask({ ...QUESTION, options: [] })] }, { blocks: [text('I asked badly.')] }],
      TALKS_ON: [
        { blocks: [text('Before.'), ask(QUESTION)], beforeDelta: 300, beforeStop: 300 },
        { blocks: [text('After.')] },
      ],
      AUTH: [{ error: { status: 401, type: 'authentication_error', message: 'bad key' } }],
      BROKEN: [{ error: { status: 400, type: 'invalid_request_error', message: 'no such thing' } }],
    },
  });
});
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});
afterAll(() => model.close());

async function run(version: string, scenario: string): Promise<{ events: HarnessEvent[]; at: Stage }> {
  const at = await openStage(version, model.url);
  stage = at;
  writeFileSync(join(at.workspace, 'crlf.txt'), 'one\r\ntwo\r\nthree\r\n');
  const claude = at.start();
  claude.send(`[[${scenario}]] go`);
  await claude.wait(isResult, 60_000);
  await claude.end();
  const events: HarnessEvent[] = [];
  let state = initialTranslateState({ workspace: at.workspace });
  for (const [i, message] of claude.messages.entries()) {
    const step = translate(state, message, { nowMs: i, runId: 'r1' });
    state = step.state;
    events.push(...step.events);
  }
  return { events, at };
}

const textsById = (events: readonly HarnessEvent[], type: 'agent_message' | 'agent_message_chunk') => {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.type !== type) continue;
    const part = event.type === 'agent_message' ? event.text : event.chunk;
    texts.set(event.message_id, (texts.get(event.message_id) ?? '') + part);
  }
  return [...texts];
};

describe.each(VERSIONS_TO_TEST)('the live stream of %s', (version) => {
  it('streams the same texts under the same ids as the messages, and the true file changes', async () => {
    const { events, at } = await run(version, 'FILES');
    const messages = textsById(events, 'agent_message');
    expect(messages.map(([, words]) => words)).toEqual(['First I make a file. 🦀', 'Then a second one.', 'done']);
    expect(textsById(events, 'agent_message_chunk')).toEqual(messages);
    expect(events.flatMap((event) => (event.type === 'agent_thought' ? [event.text] : []))).toEqual(['let me see']);

    const changes = events.filter((event): event is FileChanged => event.type === 'file_changed');
    expect(changes.map((change) => change.path).sort()).toEqual(['crlf.txt', 'made.txt', 'new.txt']);
    expect(changes.find((change) => change.path === 'new.txt')?.change).toMatchObject({
      kind: 'create',
      additions: 3,
      deletions: 0,
    });
    expect(changes.find((change) => change.path === 'made.txt')?.change).toMatchObject({
      kind: 'create',
      additions: 2,
      deletions: 0,
    });
    expect(changes.find((change) => change.path === 'crlf.txt')?.change).toMatchObject({
      kind: 'update',
      hunks: [{ lines: [' one', '-two', '+TWO', ' three'] }],
      additions: 1,
      deletions: 1,
    });
    expect(readFileSync(join(at.workspace, 'crlf.txt'), 'utf8')).toBe('one\r\nTWO\r\nthree\r\n');
    expect(events.filter((event) => event.type === 'tool_call_completed' && !event.ok)).toHaveLength(1);
  });

  it('tells a question that the CLI refuses as a failed call, and the text after it', async () => {
    const { events, at } = await run(version, 'REFUSED');
    expect(at.fires).toEqual([]);
    expect(events.filter((event) => event.type === 'tool_call_completed')).toMatchObject([
      { tool_name: 'AskUserQuestion', ok: false },
    ]);
    expect(textsById(events, 'agent_message').map(([, words]) => words)).toEqual(['I asked badly.']);
    expect(textsById(events, 'agent_message_chunk').map(([, words]) => words)).toEqual(['I asked badly.']);
  });

  it('keeps the text before a question and nothing after it', async () => {
    const { events } = await run(version, 'TALKS_ON');
    expect(textsById(events, 'agent_message').map(([, words]) => words)).toEqual(['Before.']);
    expect(textsById(events, 'agent_message_chunk').map(([, words]) => words)).toEqual(['Before.']);
  });

  it.each([
    ['AUTH', 'auth_error'],
    ['BROKEN', 'api_error'],
  ])('tells %s as the notice %s and not as a message', async (scenario, code) => {
    const { events } = await run(version, scenario);
    const errors = events.filter((event) => event.type === 'notice' && event.level === 'error');
    expect(errors).toMatchObject([{ code, message: expect.stringContaining('API Error') }]);
    expect(textsById(events, 'agent_message')).toEqual([]);
  });
});
