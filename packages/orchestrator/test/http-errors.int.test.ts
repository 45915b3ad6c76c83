// Everything that can be wrong with a request is one clear problem, and never a 500.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callUrl, type DoorUnderTest, startDoor } from './door-under-test.js';
import { problemOf, sendRaw, statusOf } from './raw-http.js';

let t: DoorUnderTest;
let sessionId: string;

beforeAll(async () => {
  t = await startDoor();
  sessionId = (await t.call('POST', '/api/v1/sessions', {})).json.id;
});
afterAll(() => t.close());

const json = { 'content-type': 'application/json' };

async function post(path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json) {
  return callUrl(`${t.url}${path}`, 'POST', { authorization: `Bearer ${t.token}`, ...headers }, body);
}

describe('bodies', () => {
  it('that are not JSON are 400 invalid_json', async () => {
    for (const body of ['{', '{"text":}', 'text', new Uint8Array([0x7b, 0xff, 0x7d])]) {
      const answer = await post(`/api/v1/sessions/${sessionId}/prompts`, body);
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_json']);
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(answer.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
    }
  });

  it('above 256 KiB are 413, just below are taken', async () => {
    const big = JSON.stringify({ text: 'x'.repeat(256 * 1024) });
    expect((await post(`/api/v1/sessions/${sessionId}/prompts`, big)).json.code).toBe('too_large');
    const fits = JSON.stringify({ text: 'x'.repeat(256 * 1024 - 20) });
    expect((await post(`/api/v1/sessions/${sessionId}/prompts`, fits)).status).toBe(202);
  });

  it('of another type are 415', async () => {
    const types = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'multipart/form-data; boundary=x',
    ];
    for (const type of types) {
      const answer = await post(`/api/v1/sessions/${sessionId}/prompts`, '{"text":"a"}', { 'content-type': type });
      expect([answer.status, answer.json.code], type).toEqual([415, 'unsupported_media_type']);
    }
    const utf8 = { 'content-type': 'application/json; charset="UTF-8"' };
    expect((await post(`/api/v1/sessions/${sessionId}/prompts`, '{"text":"a"}', utf8)).status).toBe(202);
  });

  it('with missing or wrong fields are 422 with the field and the mend', async () => {
    const cases: [string, unknown, RegExp][] = [
      ['prompts', {}, /^text is missing/],
      ['prompts', { text: 1 }, /^text must be a string/],
      ['prompts', { text: ' \n' }, /^text must not be blank/],
      ['prompts', { text: 'a\u0000' }, /^text holds a NUL/],
      ['prompts', { text: 'a', prompt_id: 'a\nb' }, /^prompt_id must have/],
      ['prompts', [], /JSON object/],
      ['prompts', null, /JSON object|missing/],
      ['answers', { tool_call_id: 't' }, /^answers is missing/],
      ['answers', { tool_call_id: 't', answers: { q: 'a' } }, /^answers\.q must be a list/],
      ['answers', { tool_call_id: 't', answers: [] }, /^answers must be a JSON object/],
    ];
    for (const [call, body, detail] of cases) {
      const answer = await post(`/api/v1/sessions/${sessionId}/${call}`, JSON.stringify(body));
      expect([answer.status, answer.json.code], JSON.stringify(body)).toEqual([422, 'invalid_body']);
      expect(answer.json.detail).toMatch(detail);
      expect(answer.json.errors.length).toBeGreaterThan(0);
    }
  });

  it('are objects, also where they may be left out', async () => {
    const none = await callUrl(`${t.url}/api/v1/sessions`, 'POST', { authorization: `Bearer ${t.token}`, ...json });
    expect(none.status).toBe(201);
    for (const body of ['null', '[]', '"x"', '1']) {
      const answer = await post('/api/v1/sessions', body);
      expect([answer.status, answer.json.code, answer.json.detail]).toEqual([
        422,
        'invalid_body',
        '(body) must be a JSON object',
      ]);
    }
  });

  it('may nest as deep as they like', async () => {
    const deep = `{"text":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect((await post(`/api/v1/sessions/${sessionId}/prompts`, deep)).status).toBe(422);
  });
});

describe('queries', () => {
  it('with a bad cursor are 400 invalid_cursor', async () => {
    const paths = [
      '/api/v1/sessions?cursor=nonsense',
      '/api/v1/sessions?cursor=',
      '/api/v1/sessions?cursor=%00',
      '/api/v1/questions?cursor=nonsense',
      `/api/v1/sessions/${sessionId}/events?since=abc`,
      `/api/v1/sessions/${sessionId}/events?since=-1`,
      `/api/v1/sessions/${sessionId}/events?since=1&since=2`,
    ];
    for (const path of paths) {
      const answer = await t.call('GET', path);
      expect([answer.status, answer.json.code], path).toEqual([400, 'invalid_cursor']);
    }
    const header = await t.call('GET', `/api/v1/sessions/${sessionId}/events`, undefined, { 'last-event-id': 'x' });
    expect(header.json.code).toBe('invalid_cursor');
  });

  it('with any other bad value are 422', async () => {
    for (const query of ['status=asleep', 'awaiting=yes', 'limit=0', 'limit=abc', 'limit=-1', 'limit=1&limit=2']) {
      const answer = await t.call('GET', `/api/v1/sessions?${query}`);
      expect([answer.status, answer.json.code], query).toEqual([422, 'invalid_body']);
    }
    expect((await t.call('GET', '/api/v1/questions?state=closed')).status).toBe(422);
  });

  it('with unknown names, a limit above the largest and broken escapes are taken for what they are', async () => {
    for (const query of ['limit=100000', 'colour=red', '__proto__=x', '%zz=1', 'constructor[prototype]=1']) {
      expect((await t.call('GET', `/api/v1/sessions?${query}`)).status, query).toBe(200);
    }
  });
});

describe('paths and methods', () => {
  it('that are not there are 404, also when they cannot be decoded', async () => {
    for (const path of [
      '/api/v1/nothing',
      '/api',
      '/api/v2/sessions',
      '/api/v1/sessions/',
      '/api/v1/sessions/%zz',
      '/api/v1/sessions/%c0%af',
      '/api/../etc/passwd',
      '/nothing.js',
      `/api/v1/sessions/${'a'.repeat(8_000)}`,
    ]) {
      const answer = await sendRaw(
        t.door.port,
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${t.token}\r\nConnection: close\r\n\r\n`,
      );
      expect([statusOf(answer), problemOf(answer).code], path).toEqual([404, 'not_found']);
    }
  });

  it('with another method are 405 with Allow', async () => {
    const answer = await t.call('PUT', '/api/v1/sessions', {});
    expect([answer.status, answer.json.code, answer.headers.get('allow')]).toEqual([
      405,
      'method_not_allowed',
      'GET, HEAD, POST',
    ]);
    const get = await t.call('GET', `/api/v1/sessions/${sessionId}/prompts`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await t.call('OPTIONS', '/api/v1/sessions')).status).toBe(405);
    expect((await t.call('POST', '/healthz', {})).status).toBe(405);
  });

  it('answer HEAD like GET without a body', async () => {
    const answer = await t.call('HEAD', `/api/v1/sessions/${sessionId}/events`, undefined, {
      accept: 'text/event-stream',
    });
    expect([answer.status, answer.text]).toEqual([200, '']);
  });
});

describe('broken HTTP', () => {
  it('is answered with a problem on the bare socket', async () => {
    for (const request of [
      'NONSENSE\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      'GET /healthz HTTP/1.1\r\n\r\n',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
    ]) {
      const answer = await sendRaw(t.door.port, request);
      expect(statusOf(answer), request.slice(0, 30)).toBeGreaterThanOrEqual(400);
      expect(statusOf(answer), request.slice(0, 30)).toBeLessThan(500);
    }
    expect(problemOf(await sendRaw(t.door.port, 'NONSENSE\r\n\r\n')).code).toBe('invalid_request');
  });

  it('with an Authorization header sent twice is nobody', async () => {
    const answer = await sendRaw(
      t.door.port,
      `GET /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${t.token}\r\nAuthorization: Bearer ${t.token}\r\nConnection: close\r\n\r\n`,
    );
    expect([statusOf(answer), problemOf(answer).code]).toEqual([401, 'unauthenticated']);
  });

  it('with Last-Event-ID sent twice is a bad cursor', async () => {
    const answer = await sendRaw(
      t.door.port,
      `GET /api/v1/sessions/${sessionId}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${t.token}\r\nLast-Event-ID: 1\r\nLast-Event-ID: 2\r\nConnection: close\r\n\r\n`,
    );
    expect([statusOf(answer), problemOf(answer).code]).toEqual([400, 'invalid_cursor']);
  });

  it('under a host name that is not ours is refused', async () => {
    const answer = await sendRaw(
      t.door.port,
      'GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    );
    expect([statusOf(answer), problemOf(answer).code]).toEqual([400, 'invalid_request']);
  });
});

describe('names that JavaScript keeps for itself', () => {
  it('in a body change nothing', async () => {
    const body = '{"text":"hello","__proto__":{"prompt_id":"p"},"constructor":{"prototype":{"x":1}}}';
    expect((await post(`/api/v1/sessions/${sessionId}/prompts`, body)).status).toBe(202);
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
  });
});

describe('workspaces', () => {
  const refuse = async (workspace: unknown) => {
    const answer = await post('/api/v1/sessions', JSON.stringify({ workspace }));
    expect([answer.status, answer.json.code], JSON.stringify(workspace)).toEqual([422, 'invalid_body']);
    return String(answer.json.detail);
  };

  it('that are folders below a root are taken by their real path', async () => {
    const answer = await post(
      '/api/v1/sessions',
      JSON.stringify({ workspace: { kind: 'path', path: `${t.folder}/projects/./one/` } }),
    );
    expect(answer.json.workspace).toEqual({ kind: 'path', path: `${t.folder}/projects/one` });
  });

  it('outside the roots are refused in the same words whether they exist or not, naming the setting', async () => {
    const there = await refuse({ kind: 'path', path: '/etc' });
    expect(await refuse({ kind: 'path', path: '/etc/no-such-folder' })).toBe(there);
    expect(await refuse({ kind: 'path', path: `${t.folder}/projects/../../../etc` })).toBe(there);
    expect(there).toContain('ENGRAM_WORKSPACE_ROOTS');
  });

  it('inside the data folder, missing, relative, not a folder, or of an unknown kind are refused', async () => {
    expect(await refuse({ kind: 'path', path: `${t.folder}/data/pg` })).toMatch(/data folder/);
    expect(await refuse({ kind: 'path', path: `${t.folder}/projects/none` })).toMatch(/does not exist/);
    expect(await refuse({ kind: 'path', path: 'projects/one' })).toMatch(/absolute/);
    expect(await refuse({ kind: 'path', path: `${t.folder}/projects/one\u0000` })).toMatch(/NUL/);
    expect(await refuse({ kind: 'zip' })).toMatch(/workspace\.kind must be one of/);
    expect(await refuse({ kind: 'git', url: '--upload-pack=x' })).toMatch(/https/);
  });
});

describe('sessions', () => {
  it('are made once per Idempotency-Key', async () => {
    const key = { ...json, 'idempotency-key': 'k-1' };
    const first = await post('/api/v1/sessions', '{"prompt":"one"}', key);
    const again = await post('/api/v1/sessions', '{"prompt":"one"}', key);
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.json.id).toBe(first.json.id);
    expect((await post('/api/v1/sessions', '{}', { ...json, 'idempotency-key': 'a b' })).status).toBe(422);
  });

  it('can be made without a body, renamed, and stay as they are on an empty patch', async () => {
    const made = await callUrl(`${t.url}/api/v1/sessions`, 'POST', { authorization: `Bearer ${t.token}` });
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`/api/v1/sessions/${made.json.id}`);
    expect((await t.call('PATCH', `/api/v1/sessions/${made.json.id}`, { title: ' New name ' })).json.title).toBe(
      'New name',
    );
    expect((await t.call('PATCH', `/api/v1/sessions/${made.json.id}`, {})).json.title).toBe('New name');
    expect((await t.call('PATCH', `/api/v1/sessions/${made.json.id}`, { title: 'a\nb' })).status).toBe(422);
  });

  it('are listed page by page without loss', async () => {
    const seen = new Set<string>();
    let path = '/api/v1/sessions?limit=2';
    for (let page = 0; page < 20; page += 1) {
      const { json: body } = await t.call('GET', path);
      for (const session of body.sessions) seen.add(session.id);
      if (body.next_cursor === undefined) break;
      path = `/api/v1/sessions?limit=2&cursor=${encodeURIComponent(body.next_cursor)}`;
    }
    const all = await t.call('GET', '/api/v1/sessions');
    expect(seen.size).toBe(all.json.sessions.length);
    expect(seen).toContain(sessionId);
  });

  it('take prompts once per prompt_id, and refuse to change what is not queued', async () => {
    const { json: made } = await t.call('POST', '/api/v1/sessions', {});
    const prompt = { text: 'hello', prompt_id: 'p-1' };
    for (let i = 0; i < 2; i += 1) {
      const answer = await t.call('POST', `/api/v1/sessions/${made.id}/prompts`, prompt);
      expect([answer.status, answer.json]).toEqual([202, { prompt_id: 'p-1' }]);
    }
    const { json: log } = await t.call('GET', `/api/v1/sessions/${made.id}/events`);
    expect(log.events.filter((e: { type: string }) => e.type === 'prompt_received')).toHaveLength(1);
    const refused = await t.call('PATCH', `/api/v1/sessions/${made.id}/prompts/none`, { text: 'x' });
    expect([refused.status, refused.json.code]).toEqual([409, 'prompt_not_queued']);
    expect((await t.call('DELETE', `/api/v1/sessions/${made.id}/prompts/none`)).status).toBe(409);
    expect((await t.call('PATCH', `/api/v1/sessions/${made.id}/prompts/p-1`, { text: 'other' })).status).toBe(202);
  });

  it('give their log in pages', async () => {
    const first = await t.call('GET', `/api/v1/sessions/${sessionId}/events?limit=1`);
    expect(first.json.events[0]).toMatchObject({ idx: 1, type: 'session_created' });
    expect(first.json.next_since).toBe(1);
    const { json: session } = await t.call('GET', `/api/v1/sessions/${sessionId}`);
    const tail = session.last_event_idx;
    expect((await t.call('GET', `/api/v1/sessions/${sessionId}/events?since=${tail}`)).json).toEqual({
      events: [],
      next_since: tail,
    });
    expect((await t.call('GET', `/api/v1/sessions/${sessionId}/events?since=99999999999999999999`)).json).toEqual({
      events: [],
      next_since: tail,
    });
    const end = await t.call('GET', `/api/v1/sessions/${sessionId}/events?before=99999999999999999999&limit=1`);
    expect(end.json.events).toMatchObject([{ idx: tail }]);
    expect(end.json.next_since).toBe(tail);
    const start = await t.call('GET', `/api/v1/sessions/${sessionId}/events?before=2`);
    expect(start.json.events).toMatchObject([{ idx: 1, type: 'session_created' }]);
    expect((await t.call('GET', `/api/v1/sessions/${sessionId}/events?before=1`)).json.events).toEqual([]);
    const refused = await t.call('GET', `/api/v1/sessions/${sessionId}/events?before=-1`);
    expect([refused.status, refused.json.code]).toEqual([400, 'invalid_cursor']);
  });
});

describe('rates', () => {
  it('are limited per owner for calls that change something', async () => {
    const strict = await startDoor({ writeLimit: { perSecond: 0.001, burst: 3 } });
    try {
      const path = '/api/v1/sessions';
      const statuses: number[] = [];
      for (let i = 0; i < 3; i += 1) statuses.push((await strict.call('POST', path, {})).status);
      const limited = await strict.call('POST', path, {});
      expect([...statuses, limited.status]).toEqual([201, 201, 201, 429]);
      expect(limited.json.code).toBe('rate_limited');
      expect(limited.headers.get('retry-after')).toBeTruthy();
      expect((await strict.call('GET', path)).status).toBe(200);
      const other = { authorization: `Bearer ${strict.otherToken}` };
      expect((await strict.call('POST', path, {}, other)).status).toBe(201);
    } finally {
      await strict.close();
    }
  });
});
