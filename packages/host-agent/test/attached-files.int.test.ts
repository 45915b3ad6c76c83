// Files of a prompt on the host's disk: put there once, named in the words that reach the agent, and
// told as missing where they cannot be.

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Attachment, OutboxCommand } from '@engram/coordinator';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { placeFiles, toFileName } from '../src/attached-files.js';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'egf-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const log = pino({ level: 'silent' });
const file = (name: string, size = 5): Attachment => ({
  attachment_id: `${'ab'.repeat(6)}${'0'.repeat(52)}`,
  name,
  media_type: 'text/plain',
  size,
});
const prompt = (attachments?: readonly Attachment[]): OutboxCommand => ({
  outboxId: 1,
  command: { type: 'prompt', text: 'Look', prompt_id: 'p1' },
  ...(attachments === undefined ? {} : { attachments }),
});

/** A store that counts how often it is asked. */
function store(found: string | undefined) {
  const asked: string[] = [];
  return {
    asked,
    readAttachment: async (_session: string, id: string) => {
      asked.push(id);
      return found === undefined ? undefined : { media_type: 'text/plain', bytes: Buffer.from(found) };
    },
  };
}

describe('a file of a prompt', () => {
  it('is put below the home of the agent once, and named in the prompt and its edit', async () => {
    const desk = store('hello');
    const place = { desk, sessionId: 's', agentHome: home, log };
    const edit = {
      ...prompt([file('notes.txt')]),
      command: { type: 'edit_queued', text: 'Closer', prompt_id: 'p1' },
    } as const;
    const [first, second] = await placeFiles([prompt([file('notes.txt')]), edit], place);
    const path = join(home, 'attachments/abababababab-notes.txt');
    expect(first?.command).toMatchObject({
      text: expect.stringMatching(
        /^Look\n\nFiles that the user attached to this message; read them before you go on:\n- /,
      ),
    });
    for (const each of [first, second]) {
      expect(each?.command).toMatchObject({ text: expect.stringContaining(`- ${path} (text/plain, 5 bytes)`) });
    }
    expect(await readFile(path, 'utf8')).toBe('hello');
    expect(await readdir(join(home, 'attachments'))).toHaveLength(1);
    await placeFiles([prompt([file('notes.txt')])], place);
    expect(desk.asked).toHaveLength(1);
  });

  it('leaves commands without files as they are', async () => {
    const commands = [prompt(), prompt()];
    expect(await placeFiles(commands, { desk: store(undefined), sessionId: 's', agentHome: home, log })).toBe(commands);
  });

  it('is told as missing when it is not stored or cannot be written', async () => {
    const gone = await placeFiles([prompt([file('a')])], {
      desk: store(undefined),
      sessionId: 's',
      agentHome: home,
      log,
    });
    expect(gone[0]?.command).toMatchObject({
      text: expect.stringContaining('could not be put on this machine (it is not'),
    });
    const blocked = join(home, 'blocked');
    await writeFile(blocked, '');
    const place = { desk: store('hello'), sessionId: 's', agentHome: blocked, log };
    const [refused] = await placeFiles([prompt([file('a')])], place);
    expect(refused?.command).toMatchObject({
      text: expect.stringMatching(/could not be put on this machine \(ENOTDIR\)/),
    });
  });

  it('never names a path of its own choosing', () => {
    const names = [
      '../../etc/passwd',
      '/etc/passwd',
      '..',
      'a\\b:c.png',
      'ü ß.png',
      `${'x'.repeat(300)}.png`,
      '.bashrc',
    ];
    for (const name of names) expect(toFileName(file(name))).toMatch(/^abababababab-[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/);
    expect(toFileName(file(`${'x'.repeat(300)}.png`))).toMatch(/\.png$/);
  });
});
