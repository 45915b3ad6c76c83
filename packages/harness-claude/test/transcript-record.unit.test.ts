// What a conversation's file may say about a user who did nothing.

import { describe, expect, it } from 'vitest';
import { CUT_OFF, NOT_MADE, withTrueRecord } from '../src/transcript-record.js';

const REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
const MARK = '[Request interrupted by user for tool use]';
const user = (uuid: string, content: unknown, more: object = {}) => ({
  type: 'user',
  uuid,
  ...more,
  message: { role: 'user', content },
});
const refusal = (uuid: string, id: string) =>
  user(uuid, [{ type: 'tool_result', tool_use_id: id, is_error: true, content: REFUSED }], {
    toolUseResult: 'User rejected tool use',
  });
const mark = (uuid: string) => user(uuid, [{ type: 'text', text: MARK }]);
const toText = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const mend = (text: string) => {
  const { bytes, changed } = withTrueRecord(Buffer.from(text));
  return { text: Buffer.from(bytes).toString('utf8'), changed };
};

describe('the record of a run that was cut off', () => {
  it('tells that nobody decided, in the last turn', () => {
    const { text, changed } = mend(toText([user('p', 'go'), refusal('r', 'q1'), mark('m')]));
    expect(changed).toBe(2);
    expect(text).not.toContain('to proceed');
    expect(text).not.toContain('by user');
    const [, result, cut] = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(result).toMatchObject({ uuid: 'r', toolUseResult: NOT_MADE });
    expect(result.message.content).toMatchObject([{ tool_use_id: 'q1', is_error: true, content: NOT_MADE }]);
    expect(cut).toMatchObject({ uuid: 'm', isMeta: true, message: { content: [{ text: CUT_OFF }] } });
    expect(mend(text)).toEqual({ text, changed: 0 });
  });

  it('keeps every other byte: earlier turns, results of other calls, foreign and torn lines', () => {
    const before = toText([user('p', 'go'), refusal('r', 'q1'), mark('m'), user('p2', 'again')]);
    const after = `{"type":"progress",  "x": 1}\n${toText([user('r2', [{ type: 'tool_result', content: REFUSED.slice(4) }])])}{"torn`;
    expect(mend(before + after)).toEqual({ text: before + after, changed: 0 });
    const { text } = mend(`${before}${toText([mark('m2')])}${after}`);
    expect(text.startsWith(before)).toBe(true);
    expect(text.endsWith(after)).toBe(true);
  });
});
