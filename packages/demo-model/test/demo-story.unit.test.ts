// biome-ignore-all lint/suspicious/noTemplateCurlyInString: source text of the scripted file
import { expect, it } from 'vitest';
import { greetingLine, STORY_FILE, storyReply } from '../src/demo-story.js';
import type { RequestBlock, RequestMessage } from '../src/messages-request.js';
import type { Step, ToolBlock } from '../src/reply-script.js';

const context = { arg: undefined, step: 0, n: 1, results: [], workspace: '/ws' };
const says = (step: Step): string =>
  (step.blocks ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');
const callOf = (step: Step): ToolBlock | undefined => step.blocks?.find((block) => block.type === 'tool_use');

/** Plays the story with a pretend agent: `react` gives the result of each call. */
function play(react: (call: ToolBlock) => { content: string; is_error?: boolean }) {
  let messages: RequestMessage[] = [{ role: 'user', blocks: [{ type: 'text', text: 'show me' }] }];
  const turns: Step[] = [];
  for (let n = 1; n < 20; n++) {
    const { reply } = storyReply(messages, { ...context, n });
    turns.push(reply);
    const call = callOf(reply);
    if (call === undefined) break;
    const id = `${call.idPrefix}${n}`;
    const block: RequestBlock = { type: 'tool_use', id, name: call.name, input: call.input };
    const done: RequestBlock = { type: 'tool_result', tool_use_id: id, is_error: false, ...react(call) };
    messages = [...messages, { role: 'assistant', blocks: [block] }, { role: 'user', blocks: [done] }];
  }
  return { turns, messages, calls: turns.flatMap((turn) => callOf(turn) ?? []) };
}

it('writes, edits, asks, edits by the answer and sums up', () => {
  const { turns, calls } = play((call) =>
    call.name === 'AskUserQuestion'
      ? {
          content: 'User has answered your questions: "How should the greeting sound?"="Formal". You can now continue.',
        }
      : { content: 'ok' },
  );
  expect(calls.map((call) => call.name)).toEqual(['Write', 'Edit', 'AskUserQuestion', 'Edit']);
  expect(calls.at(-1)?.input).toMatchObject({ new_string: '  return `Good day, ${who}.`;' });
  expect(says(turns[0] ?? {})).toContain('demo');
  expect(says(turns.at(-1) ?? {})).toContain('### Done');
});

it('makes edits that apply to the file it wrote', () => {
  let file = '';
  play((call) => {
    const input: unknown = call.input;
    if (typeof input !== 'object' || input === null) return { content: '' };
    if ('content' in input) file = String(input.content);
    if ('old_string' in input && 'new_string' in input) {
      expect(file.split(String(input.old_string))).toHaveLength(2);
      file = file.replace(String(input.old_string), () => String(input.new_string));
    }
    return { content: call.name === 'AskUserQuestion' ? '"How should the greeting sound?"="Playful"' : 'ok' };
  });
  expect(file).toContain('return `Ahoy, ${who}!`;');
});

it('reads a file that is in the way and writes over it', () => {
  const { calls } = play((call) => ({ content: 'x', is_error: call.idPrefix?.includes('_write_') ?? false }));
  expect(calls.map((call) => call.name).slice(0, 4)).toEqual(['Write', 'Read', 'Write', 'Edit']);
});

it('leaves the file alone when the question is declined, and says so', () => {
  const { turns, calls } = play((call) => ({ content: 'declined', is_error: call.name === 'AskUserQuestion' }));
  expect(calls).toHaveLength(3);
  expect(says(turns.at(-1) ?? {})).toContain('stays as it is');
});

it('says that it is a scripted demo when somebody goes on talking', () => {
  const { messages } = play(() => ({ content: 'ok' }));
  const later = storyReply(
    [
      ...messages,
      { role: 'assistant', blocks: [{ type: 'text', text: '### Done' }] },
      {
        role: 'user',
        blocks: [
          { type: 'text', text: '<system-reminder>x</system-reminder>' },
          { type: 'text', text: 'Now fix my app' },
        ],
      },
    ],
    context,
  );
  expect(says(later.reply)).toContain('You wrote: “Now fix my app”');
  expect(says(later.reply)).toContain('scripted demo');
});

it('takes an answer that comes as a message of its own', () => {
  const { messages } = play(() => ({ content: 'ok' }));
  const asked = messages.findIndex((message) =>
    message.blocks.some((block) => block.type === 'tool_use' && block.name === 'AskUserQuestion'),
  );
  const { reply } = storyReply(
    [...messages.slice(0, asked + 1), { role: 'user', blocks: [{ type: 'text', text: 'The answer was: ="Playful"' }] }],
    context,
  );
  expect(says(reply)).toContain('**Playful**');
});

it('turns free words into source text that cannot break out of its string', () => {
  const { line } = greetingLine('"How should the greeting sound?"="it`s ${evil}\\"; x');
  expect(line.startsWith('  return "')).toBe(true);
  expect(greetingLine('a"b\n`${c}').line).toBe('  return "a\\"b `${c} — " + who;');
  expect(STORY_FILE).toBe('greet.mjs');
});
