import { describe, expect, it } from 'vitest';
import { withCallReopened } from '../src/transcript-reopen.js';
import { allTranscripts, fixtureBytes } from './fixture-streams.js';

const CALL = 'toolu_1';
const line = (type: 'user' | 'assistant', uuid: string, content: unknown, more: object = {}) => ({
  type,
  uuid,
  message: { role: type, content },
  ...more,
});
const asking = (id: string) => line('assistant', `asks ${id}`, [{ type: 'tool_use', id, name: 'AskUserQuestion' }]);
const result = (id: string, content: string) =>
  line('user', `result of ${id}`, [{ type: 'tool_result', tool_use_id: id, is_error: true, content }]);
const MARKER = { type: 'attachment', uuid: 'm', attachment: { type: 'hook_deferred_tool', toolUseID: CALL } };
const POINTER = { type: 'last-prompt', leafUuid: 'm' };
const GO_ON = line('user', 'go on', 'Continue from where you left off.', { isMeta: true });
const WORDS = line('assistant', 'words', [{ type: 'text', text: 'thank you' }]);
const FAILURES = [
  'Tool permission request failed: Error: Stream closed',
  'Tool permission request failed: Error: Tool permission stream closed before response received',
  '<tool_use_error>Error calling tool (AskUserQuestion): </tool_use_error>',
];
const PARKED = [line('user', 'prompt', 'go'), asking(CALL), MARKER, POINTER];

const toBytes = (rows: readonly object[]) => Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
const reopened = (rows: readonly object[]) => {
  const bytes = withCallReopened(toBytes(rows), CALL);
  return bytes && Buffer.from(bytes).toString('utf8');
};

describe('a call that the agent took for refused because nobody could be asked', () => {
  it.each(FAILURES)('is parked again: %s', (text) => {
    const since = [{ type: 'mode' }, result(CALL, text), GO_ON, WORDS, { type: 'last-prompt', leafUuid: 'words' }];
    expect(reopened([...PARKED, ...since])).toBe(toBytes(PARKED).toString('utf8'));
  });

  it('is parked again when the agent asked the same once more, with the same end', () => {
    const [text = ''] = FAILURES;
    const since = [result(CALL, text), GO_ON, asking('toolu_2'), result('toolu_2', text), WORDS];
    expect(reopened([...PARKED, ...since])).toBe(toBytes(PARKED).toString('utf8'));
  });

  it.each([
    ['it was never parked', [asking(CALL), result(CALL, FAILURES[0] ?? '')]],
    ['it still is', PARKED],
    ['it was answered', [...PARKED, result(CALL, 'Your questions have been answered')]],
    [
      'a tool ran since',
      [
        ...PARKED,
        result(CALL, FAILURES[0] ?? ''),
        line('assistant', 'b', [{ type: 'tool_use', id: 'b', name: 'Bash' }]),
      ],
    ],
    ['another result came since', [...PARKED, result(CALL, FAILURES[0] ?? ''), result('toolu_9', 'beside')]],
    ['a user spoke since', [...PARKED, result(CALL, FAILURES[0] ?? ''), line('user', 'p', 'never mind')]],
    ['a subagent worked since', [...PARKED, result(CALL, FAILURES[0] ?? ''), { ...WORDS, isSidechain: true }]],
  ])('is left alone when %s', (_why, rows) => {
    expect(reopened(rows)).toBeUndefined();
  });

  it('is in no conversation whose process left by itself', () => {
    for (const [version, name] of allTranscripts()) {
      const bytes = fixtureBytes(version, name);
      const calls = new Set(bytes.toString('utf8').match(/toolu_\w+/g) ?? []);
      for (const call of calls) expect(withCallReopened(bytes, call), `${version} ${name} ${call}`).toBeUndefined();
    }
  });
});
