// The bytes of an image are on the disk before anybody is told of it.

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClaudeStream } from '../src/claude-stream.js';
import { LogTeller } from '../src/log-teller.js';
import { imageFolder } from '../src/result-images.js';

let state: string;
beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), 'egi-'));
});
afterAll(() => rm(state, { recursive: true, force: true }));

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' } };
const lines = [
  {
    type: 'assistant',
    message: { id: 'm1', model: 'x', content: [{ type: 'tool_use', id: 't1', name: 'Read', input: {} }] },
  },
  { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [image] }] } },
];

function tell(stateDir: string) {
  const teller = new LogTeller('/ws', stateDir);
  const messages = createClaudeStream().push(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
  return messages.flatMap((message) => teller.tell(message, 'r1'));
}

describe('an image of a tool', () => {
  it('is kept under the name that the event tells', async () => {
    const [event] = tell(state).flatMap((each) => (each.type === 'tool_call_completed' ? [each] : []));
    const [told] = event?.images ?? [];
    expect(await readdir(imageFolder(state))).toEqual([told?.attachment_id]);
    expect(await readFile(join(imageFolder(state), told?.attachment_id ?? ''), 'utf8')).toBe('hello');
    // Printed again after a resume, it is the same file.
    tell(state);
    expect(await readdir(imageFolder(state))).toHaveLength(1);
  });

  it('is not told when it cannot be kept', async () => {
    const blocked = join(state, 'blocked');
    await writeFile(blocked, '');
    expect(() => tell(blocked)).toThrow(/ENOTDIR/);
  });
});
