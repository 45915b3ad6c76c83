// A browser: one-time link, cookie, requests from elsewhere, the app's files and their headers.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLoginLink } from '../src/browser-login.js';
import { callUrl, type DoorUnderTest, OWNER, startDoor } from './door-under-test.js';

let t: DoorUnderTest;
beforeAll(async () => {
  t = await startDoor();
});
afterAll(() => t.close());

const html = { accept: 'text/html,application/xhtml+xml' };

async function logIn(): Promise<string> {
  const { url } = await createLoginLink(t.coordinator, OWNER, t.url);
  const answer = await callUrl(url, 'GET', html);
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

describe('a one-time link', () => {
  it('is exchanged once for a cookie and stripped by a redirect', async () => {
    const made = await t.call('POST', '/api/v1/login-links');
    expect(made.status).toBe(201);
    const link = new URL(made.json.url);
    expect(link.origin).toBe(t.url);
    const left = Date.parse(made.json.expires_at) - Date.now();
    expect(left).toBeGreaterThan(9 * 60_000);
    expect(left).toBeLessThanOrEqual(10 * 60_000);

    const first = await callUrl(made.json.url, 'GET', html);
    expect([first.status, first.headers.get('location')]).toEqual([303, '/']);
    expect(first.headers.get('referrer-policy')).toBe('no-referrer');
    expect(first.headers.get('set-cookie')).toMatch(
      /^engram_session_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
    );
    const again = await callUrl(made.json.url, 'GET', html);
    expect(again.status).toBe(410);
    expect(again.text).toContain('engram open');
    expect(again.text).not.toContain(link.searchParams.get('token'));
    expect(again.headers.get('set-cookie')).toBeNull();
  });

  it('is not used up by a look ahead or a HEAD request', async () => {
    const { url } = await createLoginLink(t.coordinator, OWNER, t.url);
    await callUrl(url, 'GET', { ...html, 'sec-purpose': 'prefetch' });
    await callUrl(url, 'HEAD', html);
    expect((await callUrl(url, 'GET', html)).status).toBe(303);
  });

  it('opened again by somebody who is signed in goes to the app', async () => {
    const cookie = await logIn();
    const answer = await callUrl(`${t.url}/sessions/1?token=${'x'.repeat(43)}&a=1`, 'GET', { ...html, cookie });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/sessions/1?a=1']);
  });

  it('is given to a bearer token only', async () => {
    const cookie = await logIn();
    const answer = await callUrl(`${t.url}/api/v1/login-links`, 'POST', { cookie, origin: t.url });
    expect(answer.status).toBe(401);
  });
});

describe('a browser session', () => {
  it('reads and changes from our own pages only', async () => {
    const cookie = await logIn();
    const body = '{"title":"from the page"}';
    const json = { cookie, 'content-type': 'application/json' };
    expect((await callUrl(`${t.url}/api/v1/sessions`, 'GET', { cookie })).status).toBe(200);
    expect(
      (await callUrl(`${t.url}/api/v1/sessions`, 'POST', { ...json, 'sec-fetch-site': 'same-origin' }, body)).status,
    ).toBe(201);
    expect((await callUrl(`${t.url}/api/v1/sessions`, 'POST', { ...json, origin: t.url }, body)).status).toBe(201);
    const elsewhere: Record<string, string>[] = [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: t.url },
    ];
    for (const headers of elsewhere) {
      t.desk.calls.length = 0;
      const answer = await callUrl(`${t.url}/api/v1/sessions`, 'POST', { ...json, ...headers }, body);
      expect([answer.status, answer.json.code], JSON.stringify(headers)).toEqual([401, 'unauthenticated']);
      expect(t.desk.calls).toEqual([]);
    }
    const form = { cookie, origin: t.url, 'content-type': 'application/x-www-form-urlencoded' };
    expect((await callUrl(`${t.url}/api/v1/sessions`, 'POST', form, 'title=x')).status).toBe(415);
  });

  it('is ended by logging out', async () => {
    const cookie = await logIn();
    const out = await callUrl(`${t.url}/api/v1/browser-session`, 'DELETE', { cookie, 'sec-fetch-site': 'same-origin' });
    expect(out.status).toBe(204);
    expect(out.headers.get('set-cookie')).toMatch(/Max-Age=0$/);
    expect((await callUrl(`${t.url}/api/v1/sessions`, 'GET', { cookie })).status).toBe(401);
  });

  it('does not make up for a wrong token', async () => {
    const cookie = await logIn();
    const answer = await callUrl(`${t.url}/api/v1/sessions`, 'GET', { cookie, authorization: 'Bearer wrong' });
    expect(answer.status).toBe(401);
  });
});

describe('the web app', () => {
  it('comes with a strict policy; hashed files stay, the page is asked for again', async () => {
    const page = await callUrl(`${t.url}/`, 'GET', html);
    expect([page.status, page.text]).toEqual([200, '<!doctype html><title>app</title>']);
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const csp = page.headers.get('content-security-policy') ?? '';
    expect(csp).toContain("default-src 'self'");
    expect(csp).toMatch(/script-src 'self' 'wasm-unsafe-eval'(;|$)/);
    expect(csp).toContain("frame-ancestors 'none'");
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    const script = await callUrl(`${t.url}/assets/index-abc123.js`, 'GET', {});
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(script.headers.get('content-type')).toMatch(/javascript/);
  });

  it('answers its own paths with the page, missing files and other methods with a problem', async () => {
    const deep = await callUrl(`${t.url}/sessions/abc`, 'GET', html);
    expect([deep.status, deep.text]).toEqual([200, '<!doctype html><title>app</title>']);
    expect(deep.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect((await callUrl(`${t.url}/assets/missing.js`, 'GET', html)).status).toBe(404);
    expect((await callUrl(`${t.url}/sessions/abc`, 'GET', { accept: 'application/json' })).json.code).toBe('not_found');
    expect((await callUrl(`${t.url}/sessions/abc`, 'POST', html)).status).toBe(404);
    expect((await callUrl(`${t.url}/api/v1/nothing`, 'GET', html)).json.code).toBe('not_found');
  });

  it('leaves nothing outside its folder', async () => {
    for (const path of [
      '/..%2f..%2fetc%2fpasswd',
      '/%2e%2e/data/pg-password',
      '/assets/..%5c..%5cindex.html',
      '/.hidden',
      '/%00',
    ]) {
      expect((await callUrl(`${t.url}${path}`, 'GET', {})).status, path).toBe(404);
    }
  });

  it('that was not built says so', async () => {
    const bare = await startDoor({ webRoot: `${t.folder}/no-such-folder` });
    try {
      const page = await callUrl(`${bare.url}/`, 'GET', html);
      expect(page.status).toBe(503);
      expect(page.text).toContain('npm run build');
      expect((await bare.call('GET', '/api/v1/status')).status).toBe(200);
    } finally {
      await bare.close();
    }
  });
});

describe('status', () => {
  it('says what the server is and who is asking', async () => {
    const { json } = await t.call('GET', '/api/v1/status');
    expect(json).toEqual({
      version: '0.0.0-test',
      you: OWNER,
      hosts: [],
      credentials: 'none',
      demo: false,
      workspace_roots: [`${t.folder}/projects`, `${t.folder}/data`],
    });
  });
});
