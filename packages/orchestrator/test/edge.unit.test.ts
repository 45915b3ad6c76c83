// The pure parts of the edge: cursors, problems, request origin, cookies, rates, inputs.

import { CoordinatorError } from '@engram/coordinator';
import { describe, expect, it } from 'vitest';
import { allRoutes } from '../src/all-routes.js';
import { AnswerInput, NewSessionInput, PromptInput } from '../src/api-schemas.js';
import { cookieNameFor } from '../src/browser-login.js';
import { startCursor } from '../src/cursors.js';
import { explainAnswers } from '../src/explain-answers.js';
import { toInvalid } from '../src/explain-issues.js';
import { createAllowLookup, parseJsonBody } from '../src/http-edge.js';
import { bearerToken, cookieValue } from '../src/identity.js';
import { withoutToken } from '../src/login-link-hook.js';
import { notFound, PROBLEMS, Problem } from '../src/problem.js';
import { createRateLimiter } from '../src/rate-limit.js';
import { isAcceptedHost, isDirectLoopback, mayUseCookie } from '../src/request-origin.js';
import { toProblem } from '../src/to-problem.js';

function codeOf(act: () => unknown): string | undefined {
  try {
    act();
  } catch (error) {
    return error instanceof Problem ? error.code : String(error);
  }
  return undefined;
}

describe('cursors', () => {
  it('takes the larger of since and Last-Event-ID', () => {
    expect(startCursor('5', ['9'])).toBe(9);
    expect(startCursor('9', ['5'])).toBe(9);
    expect(startCursor(undefined, [])).toBe(0);
    expect(startCursor('3', [''])).toBe(3);
  });

  it('takes a number beyond any log as above the tail', () => {
    expect(startCursor('99999999999999999999999', [])).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('refuses what is no whole number, and two headers', () => {
    for (const bad of ['', '-1', '1.5', 'abc', '1e3', '0x10', ' 1', '١']) {
      expect(
        codeOf(() => startCursor(bad, [])),
        bad,
      ).toBe('invalid_cursor');
    }
    for (const bad of [['x'], ['1, 2'], ['1', '1']]) {
      expect(codeOf(() => startCursor(undefined, bad))).toBe('invalid_cursor');
    }
  });
});

describe('problems', () => {
  it('has exactly the statuses that clients were promised', () => {
    const table = Object.fromEntries(Object.entries(PROBLEMS).map(([code, { status }]) => [code, status]));
    expect(table).toEqual({
      invalid_json: 400,
      invalid_cursor: 400,
      invalid_request: 400,
      unauthenticated: 401,
      not_found: 404,
      method_not_allowed: 405,
      question_closed: 409,
      prompt_not_queued: 409,
      run_open: 409,
      too_large: 413,
      unsupported_media_type: 415,
      invalid_body: 422,
      invalid_answers: 422,
      rate_limited: 429,
      internal: 500,
      unavailable: 503,
    });
  });

  it('says the same for everything that may not be seen', () => {
    expect(JSON.stringify(notFound().body())).toBe(JSON.stringify(notFound().body()));
    expect(notFound().body()).not.toHaveProperty('request_id');
  });

  it('calls a lost database unavailable and anything unforeseen internal, without its words', () => {
    const lost = toProblem(new CoordinatorError('unavailable', 'password=secret host=10.0.0.1'));
    expect(lost.status).toBe(503);
    expect(lost.headers['retry-after']).toBeDefined();
    const bug = toProblem(new TypeError('secret of ours'));
    expect(bug.status).toBe(500);
    expect(JSON.stringify([lost.body(), bug.body()])).not.toMatch(/secret|10\.0/);
    expect(toProblem(new CoordinatorError('sequence_gap', 'x')).code).toBe('internal');
    expect(toProblem(Object.assign(new Error('/etc/x'), { code: 'ENOENT' })).code).toBe('internal');
  });
});

describe('JSON bodies', () => {
  it('refuses broken JSON and broken UTF-8', () => {
    for (const bad of [Buffer.from('{'), Buffer.from('nope'), Buffer.from([0x22, 0xff, 0x22])]) {
      expect(codeOf(() => parseJsonBody(bad))).toBe('invalid_json');
    }
  });

  it('takes an empty body as none', () => {
    expect(parseJsonBody(Buffer.alloc(0))).toBeUndefined();
  });
});

describe('inputs', () => {
  const detail = (schema: typeof PromptInput | typeof NewSessionInput | typeof AnswerInput, value: unknown) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? undefined : toInvalid(parsed.error).extras.detail;
  };

  it('names the field and the mend', () => {
    expect(detail(PromptInput, {})).toBe('text is missing; give a string');
    expect(detail(PromptInput, { text: 5 })).toBe('text must be a string');
    expect(detail(PromptInput, { text: '  ' })).toBe('text must not be blank');
    expect(detail(PromptInput, 'x')).toBe('(body) must be a JSON object');
    expect(detail(NewSessionInput, { workspace: { kind: 'zip' } })).toBe(
      'workspace.kind must be one of "path", "git", "empty"',
    );
    expect(detail(NewSessionInput, { agent: 'other' })).toBe('agent must be "claude"');
    expect(detail(AnswerInput, { tool_call_id: 't', answers: { 'Q?': 'a' } })).toBe('answers.Q? must be a list');
  });

  it('refuses NUL and lone surrogates in texts', () => {
    expect(detail(PromptInput, { text: 'a\u0000b' })).toMatch(/^text holds a NUL/);
    expect(detail(PromptInput, { text: 'a\ud83d' })).toMatch(/surrogate/);
    expect(detail(PromptInput, { text: '😀 literal \\u0000' })).toBeUndefined();
  });

  it('refuses models and git addresses that could be read as options or other protocols', () => {
    const bad = [
      { model: '--dangerous' },
      { workspace: { kind: 'git', url: '--upload-pack=x' } },
      { workspace: { kind: 'git', url: 'file:///etc' } },
      { workspace: { kind: 'git', url: 'ext::sh -c id' } },
      { workspace: { kind: 'git', url: 'http://example.org/x.git' } },
      { workspace: { kind: 'git', url: 'ssh://-oProxyCommand=id/x' } },
      { workspace: { kind: 'git', url: 'git@host:-x' } },
      { workspace: { kind: 'git', url: 'https://example.org/x.git', ref: '--all' } },
      { workspace: { kind: 'git', url: 'https://example.org/x.git', ref: 'a..b' } },
    ];
    for (const body of bad) expect(detail(NewSessionInput, body), JSON.stringify(body)).toBeDefined();
    for (const url of ['https://example.org/a/b.git', 'ssh://git@example.org:22/a.git', 'git@example.org:a/b.git']) {
      expect(detail(NewSessionInput, { workspace: { kind: 'git', url, ref: 'feature/x-1' } }), url).toBeUndefined();
    }
    expect(detail(NewSessionInput, { model: 'claude-sonnet-4-5[1m]' })).toBeUndefined();
  });

  it('finds the sentence for answers that do not fit', () => {
    const question = { question: 'Q?', header: 'H', multi_select: false, options: [{ label: 'a', description: '' }] };
    expect(explainAnswers([question], [])).toBe('answers: "Q?" has no answer.');
    expect(explainAnswers([question], [['Q?', ['\t\n']]])).toBe('answers: "Q?" has a blank answer.');
    expect(explainAnswers([question], [['Q?', ['a', 'b']]])).toBe('answers: "Q?" takes exactly one answer.');
    expect(
      explainAnswers(
        [question],
        [
          ['Q?', ['a']],
          ['constructor', ['x']],
        ],
      ),
    ).toBe('answers: "constructor" is not one of the questions.');
  });
});

describe('identity', () => {
  it('reads one bearer token and nothing else', () => {
    expect(bearerToken(undefined)).toBeUndefined();
    expect(bearerToken(['Bearer abc'])).toBe('abc');
    for (const bad of [['Basic abc'], ['Bearer'], ['Bearer a b'], ['Bearer a', 'Bearer a'], ['']]) {
      expect(codeOf(() => bearerToken(bad))).toBe('unauthenticated');
    }
  });

  it('takes a cookie that is there twice with different values as none', () => {
    const value = 'a'.repeat(43);
    expect(cookieValue(`x=1; s=${value}`, 's')).toBe(value);
    expect(cookieValue(`s=${value}; s=${'b'.repeat(43)}`, 's')).toBeUndefined();
    expect(cookieValue(`xs=${value}`, 's')).toBeUndefined();
  });

  it('names the cookie after the port, so that two servers on one machine do not log each other out', () => {
    expect(cookieNameFor('http://127.0.0.1:4400')).toBe('engram_session_4400');
    expect(cookieNameFor('https://engram.example.org')).toBe('engram_session');
  });

  it('counts a cookie for a change only when the request shows that it is from our own pages', () => {
    const host = '127.0.0.1:4400';
    const post = (secFetchSite?: string, origin?: string) =>
      mayUseCookie('POST', { host, origin, secFetchSite }, 'https://engram.example.org');
    expect(post('same-origin')).toBe(true);
    for (const site of ['same-site', 'cross-site', 'none']) expect(post(site, `http://${host}`), site).toBe(false);
    expect(post(undefined, `http://${host}`)).toBe(true);
    expect(post(undefined, 'https://engram.example.org')).toBe(true);
    for (const origin of [undefined, 'null', 'http://127.0.0.1:3000', 'http://evil.example']) {
      expect(post(undefined, origin), String(origin)).toBe(false);
    }
    const get = (secFetchSite?: string) => mayUseCookie('GET', { host, origin: undefined, secFetchSite }, undefined);
    expect([get(), get('same-origin'), get('none'), get('cross-site')]).toEqual([true, true, true, false]);
  });

  it('answers a loopback server only under a loopback name or its public one', () => {
    const server = { boundToLoopback: true, publicUrl: 'https://engram.example.org' };
    for (const host of [
      '127.0.0.1:4400',
      'localhost',
      'LOCALHOST:1',
      '[::1]:4400',
      'engram.example.org',
      'x.localhost',
    ]) {
      expect(isAcceptedHost(host, server), host).toBe(true);
    }
    for (const host of [
      undefined,
      '',
      'evil.example',
      '127.0.0.1.evil.example',
      'localhost.evil.example:4400',
      'a b',
      'a/b',
    ]) {
      expect(isAcceptedHost(host, server), String(host)).toBe(false);
    }
    expect(isAcceptedHost('anything.example', { boundToLoopback: false, publicUrl: undefined })).toBe(true);
  });

  it('does not take a proxy on this machine for the machine itself', () => {
    expect(isDirectLoopback('::ffff:127.0.0.1', {})).toBe(true);
    expect(isDirectLoopback('127.0.0.1', { 'x-forwarded-for': '203.0.113.5' })).toBe(false);
    expect(isDirectLoopback('10.0.0.5', {})).toBe(false);
  });
});

describe('login links', () => {
  it('redirects to the same place without the code, and never to another host', () => {
    expect(withoutToken('/?token=abc')).toBe('/');
    expect(withoutToken('/sessions/1?a=b&token=abc')).toBe('/sessions/1?a=b');
    expect(withoutToken('//evil.example/?token=abc')).toBe('/evil.example/');
    expect(withoutToken('/\\evil.example/?token=abc')).toBe('/evil.example/');
  });
});

describe('routing', () => {
  it('knows the methods of each path', () => {
    const allow = createAllowLookup(allRoutes);
    expect(allow('/api/v1/sessions')).toBe('GET, HEAD, POST');
    expect(allow('/api/v1/sessions/x/prompts/y')).toBe('DELETE, PATCH');
    expect(allow('/api/v1/nothing')).toBeUndefined();
    expect(allow('/api/v1/sessions/x/y/z')).toBeUndefined();
  });
});

describe('rates', () => {
  it('lets a burst through, then the steady rate, each key on its own', () => {
    const limiter = createRateLimiter({ perSecond: 1, burst: 2 });
    expect([limiter.take('a', 0), limiter.take('a', 0), limiter.take('a', 0)]).toEqual([true, true, false]);
    expect(limiter.take('b', 0)).toBe(true);
    expect([limiter.take('a', 1000), limiter.take('a', 1000)]).toEqual([true, false]);
  });
});
