// Files beside a session: stored once by what they hold, read back as what they are and as nothing
// that could run, refused with a reason, and the owner's alone.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callUrl, type DoorUnderTest, startDoor } from './door-under-test.js';

let t: DoorUnderTest;
let sessionId: string;
const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const bytesOf = (text: string) => new Uint8Array(new TextEncoder().encode(text));

beforeAll(async () => {
  t = await startDoor();
  sessionId = (await t.call('POST', '/api/v1/sessions', { title: 'files' })).json.id;
});
afterAll(() => t.close());

const at = (more = '') => `${t.url}/api/v1/sessions/${sessionId}/attachments${more}`;
const as = (token: string) => ({ authorization: `Bearer ${token}` });

function upload(bytes: Uint8Array<ArrayBuffer>, type = 'application/octet-stream', token = t.token) {
  return callUrl(at(), 'POST', { ...as(token), 'content-type': type }, bytes);
}

describe('a file', () => {
  it('is stored by what it holds, its type told from its bytes', async () => {
    const first = await upload(PNG);
    expect(first.status).toBe(201);
    expect(first.json).toEqual({
      attachment_id: expect.stringMatching(/^[0-9a-f]{64}$/),
      media_type: 'image/png',
      size: PNG.length,
    });
    expect((await upload(PNG)).json).toEqual(first.json);
    for (const [text, type] of [
      ['<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', 'text/plain'],
      ['<!doctype html><script>alert(1)</script>', 'text/plain'],
      ['%PDF-1.7', 'application/pdf'],
      ['a\0b', 'application/octet-stream'],
    ] as const) {
      expect((await upload(bytesOf(text))).json.media_type, text).toBe(type);
    }
  });

  it('is read back as an image or as a download, never as a page', async () => {
    const image = await upload(PNG);
    const seen = await fetch(at(`/${image.json.attachment_id}`), { headers: as(t.token) });
    expect(new Uint8Array(await seen.arrayBuffer())).toEqual(PNG);
    const page = await upload(bytesOf('<script>alert(1)</script>'));
    const got = await callUrl(at(`/${page.json.attachment_id}`), 'GET', as(t.token));
    expect([seen, got].map(({ headers }) => headers.get('content-type'))).toEqual([
      'image/png',
      'application/octet-stream',
    ]);
    expect(got.headers.get('content-disposition')).toBe('attachment');
    for (const { headers } of [seen, got]) {
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toContain('private');
    }
  });

  it('is refused with a reason: another type, nothing in it, too large', async () => {
    const refused = async (answer: ReturnType<typeof upload>) => {
      const { status, json } = await answer;
      return [status, json.code, json.detail];
    };
    expect(await refused(upload(PNG, 'image/png'))).toEqual([
      415,
      'unsupported_media_type',
      "Send the file's bytes as application/octet-stream.",
    ]);
    expect(await refused(upload(new Uint8Array()))).toEqual([422, 'invalid_body', '(body): the file is empty']);
    expect(await refused(upload(new Uint8Array(5 * 1024 * 1024 + 1)))).toEqual([
      413,
      'too_large',
      'A file may have at most 5 MiB.',
    ]);
    expect((await upload(new Uint8Array(5 * 1024 * 1024))).status).toBe(201);
  });

  it("is nobody's but the owner's, and of one session", async () => {
    const image = await upload(PNG);
    const path = at(`/${image.json.attachment_id}`);
    const unknown = await callUrl(at(`/${'0'.repeat(64)}`), 'GET', as(t.token));
    const other = await callUrl(path, 'GET', as(t.otherToken));
    const elsewhere = (await t.call('POST', '/api/v1/sessions', { title: 'other' })).json.id;
    const moved = await callUrl(path.replace(sessionId, elsewhere), 'GET', as(t.token));
    for (const answer of [unknown, other, moved]) expect([answer.status, answer.text]).toEqual([404, unknown.text]);
    expect((await upload(PNG, undefined, t.otherToken)).status).toBe(404);
    expect((await callUrl(path, 'GET', {})).status).toBe(401);
  });
});

describe('a prompt', () => {
  const send = (body: object) => t.call('POST', `/api/v1/sessions/${sessionId}/prompts`, body);

  it('names files of its session, and the log holds what they are', async () => {
    const { attachment_id } = (await upload(PNG)).json;
    const given = { text: 'Look', prompt_id: 'p1', attachments: [{ attachment_id, name: 'shot.png' }] };
    expect((await send(given)).status).toBe(202);
    const { events } = (await t.call('GET', `/api/v1/sessions/${sessionId}/events`)).json;
    expect(events.find((event: { type: string }) => event.type === 'prompt_received')).toMatchObject({
      prompt_id: 'p1',
      attachments: [{ attachment_id, name: 'shot.png', media_type: 'image/png', size: PNG.length }],
    });
  });

  it('is refused with a file that is not there, too many, or a name of several lines', async () => {
    const { attachment_id } = (await upload(PNG)).json;
    const file = { attachment_id, name: 'a' };
    for (const attachments of [
      [{ attachment_id: '0'.repeat(64), name: 'x' }],
      Array.from({ length: 11 }, () => file),
      [{ attachment_id, name: 'a\nb' }],
    ]) {
      const answer = await send({ text: 'Look', attachments });
      expect([answer.status, answer.json.code]).toEqual([422, 'invalid_body']);
    }
    const { events } = (await t.call('GET', `/api/v1/sessions/${sessionId}/events`)).json;
    expect(events.filter((event: { type: string }) => event.type === 'prompt_received')).toHaveLength(1);
  });
});
