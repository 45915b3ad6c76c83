import { describe, expect, it } from 'vitest';
import { parseTranscript } from '../src/transcript.js';
import { missingPointer } from '../src/transcript-leaf.js';
import { allTranscripts, fixtureBytes } from './fixture-streams.js';

const line = (type: 'user' | 'assistant', uuid: string, parentUuid: string, content: unknown) => ({
  type,
  uuid,
  parentUuid,
  message: { role: type, content },
});
const PROMPT = line('user', 'prompt', 'start', 'go');
const ASKING = line('assistant', 'asking', 'prompt', [{ type: 'tool_use', id: 'toolu_1', name: 'AskUserQuestion' }]);
const MARKER = {
  type: 'attachment',
  uuid: 'marker',
  parentUuid: 'asking',
  attachment: { type: 'hook_deferred_tool', toolUseID: 'toolu_1' },
};
const AFTER_HOOK = { type: 'attachment', uuid: 'hook', parentUuid: 'marker', attachment: { type: 'hook_success' } };
const ANSWER = line('user', 'answer', 'asking', [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'red' }]);
const WORDS = line('assistant', 'words', 'answer', [{ type: 'text', text: 'red it is' }]);
const NEXT = line('user', 'next', 'words', 'and now?');
const pointer = (leafUuid: string) => ({ type: 'last-prompt', lastPrompt: 'go', leafUuid, sessionId: 's' });

const toTranscript = (rows: readonly object[], torn = '') =>
  parseTranscript(Buffer.from(`${rows.map((row) => `${JSON.stringify(row)}\n`).join('')}${torn}`));
const missing = (rows: readonly object[], torn?: string) => {
  const bytes = missingPointer(toTranscript(rows, torn));
  return bytes && Buffer.from(bytes).toString('utf8');
};
const PARKED = [PROMPT, ASKING, MARKER, pointer('marker')];

describe('the pointer to the end of a conversation', () => {
  it('is missing when the process was killed after the answer: it points at the marker, on another branch', () => {
    const rows = [...PARKED, AFTER_HOOK, ANSWER, WORDS, NEXT];
    expect(missing(rows)).toBe(`${JSON.stringify(pointer('next'))}\n`);
    expect(missing([...rows, pointer('next')])).toBeUndefined();
    expect(missing([...PARKED, AFTER_HOOK, ANSWER])).toBe(`${JSON.stringify(pointer('answer'))}\n`);
  });

  it('stands on a line of its own behind a torn one', () => {
    expect(missing([...PARKED, ANSWER, WORDS], '{"type":"assi')).toBe(`\n${JSON.stringify(pointer('words'))}\n`);
  });

  it('is left where it is while the call is parked, also beside what other calls gave', () => {
    expect(missing(PARKED)).toBeUndefined();
    expect(missing([...PARKED, AFTER_HOOK])).toBeUndefined();
    expect(missing([...PARKED, line('user', 'beside', 'prompt', [{ type: 'tool_result', tool_use_id: 'b' }])])).toBe(
      undefined,
    );
  });

  it('is missing when the answer went out as a message', () => {
    const message = line('user', 'message', 'asking', 'The answer is red.');
    expect(missing([...PARKED, message])).toBe(`${JSON.stringify(pointer('message'))}\n`);
  });

  it('is not needed when the end comes after it on the same branch, nor where there never was one', () => {
    const clean = [...PARKED, ANSWER, WORDS, pointer('words')];
    expect(missing([...clean, NEXT])).toBeUndefined();
    expect(missing([PROMPT, ASKING, ANSWER, WORDS, NEXT])).toBeUndefined();
    expect(missing([])).toBeUndefined();
  });

  it('bears a circle of parents', () => {
    const circle = [line('user', 'a', 'b', 'x'), line('assistant', 'b', 'a', [])];
    expect(missing([...PARKED, ...circle])).toBe(`${JSON.stringify(pointer('b'))}\n`);
  });

  it('is never missing in a conversation whose process left by itself', () => {
    for (const [version, name] of allTranscripts()) {
      const transcript = parseTranscript(fixtureBytes(version, name));
      expect(missingPointer(transcript), `${version} ${name}`).toBeUndefined();
    }
  });
});
