// Files of a session in the database: what a prompt was given with goes out with its command, also
// after an edit, is bounded, and ends with the session.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Coordinator } from '../src/index.js';
import { mediaTypeOf } from '../src/media-type.js';
import { ada, claimOne, hostInfo, makeSession } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;
let coordinator: Coordinator;
beforeAll(async () => {
  database = await startTestDatabase();
  coordinator = await database.createCoordinator();
  await coordinator.heartbeat(hostInfo('h1'));
});
afterAll(() => database.stop());

const bytes = (text: string) => new TextEncoder().encode(text);

async function withFile(): Promise<{ readonly id: string; readonly file: { attachment_id: string; name: string } }> {
  const { id } = await makeSession(coordinator);
  const stored = await coordinator.putAttachment(id, bytes('hello'));
  if (!stored.ok) throw new Error(stored.reason);
  return { id, file: { attachment_id: stored.attachment_id, name: 'hello.txt' } };
}
const asStored = (file: object) => [{ ...file, media_type: 'text/plain', size: 5 }];

describe('files of a prompt', () => {
  it('go out with its command and are not part of it', async () => {
    const { id, file } = await withFile();
    const prompt = { text: 'Look', prompt_id: 'p1', by: ada, attachments: [file] };
    expect(await coordinator.acceptPrompt(id, prompt)).toEqual({ ok: true });
    expect(await coordinator.acceptPrompt(id, prompt)).toEqual({ ok: true });
    const held = await claimOne(coordinator, id);
    const facts = await coordinator.attachFacts(id, held.epoch);
    expect(facts).toMatchObject({
      commands: [{ command: { type: 'prompt', text: 'Look', prompt_id: 'p1' }, attachments: asStored(file) }],
    });
    expect('commands' in facts && Object.keys(facts.commands[0]?.command ?? {})).not.toContain('attachments');
    // A change of words, before and after a host was handed the prompt, keeps them.
    await coordinator.editPrompt(id, 'p1', 'Look closer');
    expect(await coordinator.commandsAfter(id, held.epoch, 0)).toMatchObject([
      { command: { type: 'prompt', text: 'Look closer' }, attachments: asStored(file) },
      { command: { type: 'edit_queued', text: 'Look closer' }, attachments: asStored(file) },
    ]);
    expect((await coordinator.readAttachment(id, file.attachment_id))?.bytes.toString()).toBe('hello');
  });

  it('must be there, and nothing is accepted otherwise', async () => {
    const { id } = await makeSession(coordinator);
    const other = await withFile();
    const prompt = { text: 'Look', prompt_id: 'p1', by: ada, attachments: [other.file] };
    expect(await coordinator.acceptPrompt(id, prompt)).toEqual({ ok: false, reason: 'attachment_missing' });
    expect((await coordinator.getSession(id))?.undelivered).toEqual([]);
  });

  it('end with the session, and one that is gone takes none', async () => {
    const { id, file } = await withFile();
    await coordinator.deleteSession(id);
    expect(await coordinator.readAttachment(id, file.attachment_id)).toBeUndefined();
    expect(await coordinator.putAttachment(id, bytes('x'))).toEqual({ ok: false, reason: 'not_found' });
  });

  it('are bounded one by one and together', async () => {
    const { id } = await makeSession(coordinator);
    const large = new Uint8Array(5 * 1024 * 1024);
    expect(await coordinator.putAttachment(id, new Uint8Array(large.length + 1))).toMatchObject({
      reason: 'too_large',
    });
    const answers: boolean[] = [];
    for (let i = 0; i < 53; i += 1) {
      large[0] = i;
      answers.push((await coordinator.putAttachment(id, large)).ok);
    }
    expect(answers.indexOf(false)).toBe(51);
    expect(await coordinator.putAttachment(id, large.subarray(0, 9))).toMatchObject({ ok: true });
  });
});

describe('the type of a file', () => {
  it.each([
    ['\x89PNG\r\n\x1a\n', 'image/png'],
    ['\xff\xd8\xff\xe0', 'image/jpeg'],
    ['GIF89a', 'image/gif'],
    ['RIFF\0\0\0\0WEBPVP8 ', 'image/webp'],
    ['RIFF\0\0\0\0WAVE', 'application/octet-stream'],
    ['<svg/>', 'text/plain'],
    ['\xff\xfe', 'application/octet-stream'],
  ])('of %j is %s', (start, type) => {
    expect(mediaTypeOf(Buffer.from(start, 'latin1'))).toBe(type);
  });
});
