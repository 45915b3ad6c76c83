// Every path below a session × (owner, other owner, nobody, no such session, no possible id): one
// and the same 404, and nothing done behind the policy. Field case WEB-10.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allRoutes } from '../src/all-routes.js';
import { askQuestion, callUrl, type DoorUnderTest, startDoor } from './door-under-test.js';

let t: DoorUnderTest;
let sessionId: string;

beforeAll(async () => {
  t = await startDoor();
  const made = await t.call('POST', '/api/v1/sessions', { title: 'mine' });
  sessionId = made.json.id;
  await askQuestion(t.coordinator, sessionId, 'toolu_1');
});
afterAll(() => t.close());

const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const IMPOSSIBLE = [
  'x',
  '%00',
  'a%2Fb',
  '__proto__',
  '%F0%9F%98%80',
  'A'.repeat(900),
  `${UNKNOWN}%0A`,
  "'%20or%20'1'='1",
];

const bodies: Record<string, unknown> = {
  patchSession: { title: 'stolen' },
  sendPrompt: { text: 'do it' },
  editPrompt: { text: 'do it' },
  answerQuestion: { tool_call_id: 'toolu_1', answers: { 'Which editor?': ['vi'] } },
  dismissQuestion: { reason: 'no' },
};

const scoped = allRoutes.filter(({ spec }) => spec.path.includes('{id}')).map(({ spec }) => spec);

function pathOf(template: string, id: string): string {
  return template.replace('{id}', id).replace('{tool_call_id}', 'toolu_1').replace('{prompt_id}', 'p1');
}

describe.each(scoped)('$method $path', (spec) => {
  const body = bodies[spec.operationId];
  const text = body === undefined ? undefined : JSON.stringify(body);
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  const as = (token: string) => ({ authorization: `Bearer ${token}`, ...type });

  it('is 401 for nobody, and asks the desk nothing', async () => {
    t.desk.calls.length = 0;
    const answer = await callUrl(`${t.url}${pathOf(spec.path, sessionId)}`, spec.method, type, text);
    expect(answer.status).toBe(401);
    expect(answer.json.code).toBe('unauthenticated');
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    expect(t.desk.calls).toEqual([]);
  });

  it('is the same 404 for another owner, an unknown session and an impossible id, with no work behind the policy', async () => {
    t.desk.calls.length = 0;
    const foreign = await callUrl(`${t.url}${pathOf(spec.path, sessionId)}`, spec.method, as(t.otherToken), text);
    expect(t.desk.calls).toEqual(['findTokenOwner', 'getSession']);
    const unknown = await callUrl(`${t.url}${pathOf(spec.path, UNKNOWN)}`, spec.method, as(t.token), text);
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    expect(unknown.text).toBe(foreign.text);
    for (const id of IMPOSSIBLE) {
      t.desk.calls.length = 0;
      const impossible = await callUrl(`${t.url}${pathOf(spec.path, id)}`, spec.method, as(t.token), text);
      expect([impossible.status, impossible.text], id).toEqual([404, foreign.text]);
      expect(t.desk.calls).toEqual(['findTokenOwner']);
    }
  });

  it('does not look at the body of somebody else', async () => {
    const json = { ...as(t.otherToken), 'content-type': 'application/json' };
    if (spec.method === 'GET') return;
    const answer = await callUrl(`${t.url}${pathOf(spec.path, sessionId)}`, spec.method, json, '{"text":5,"title":5}');
    expect(answer.status).toBe(404);
  });

  it('refuses an event stream to anybody else in the same way', async () => {
    const headers = { authorization: `Bearer ${t.otherToken}`, accept: 'text/event-stream' };
    const answer = await callUrl(`${t.url}${pathOf(spec.path, sessionId)}`, spec.method, headers);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toMatch(/problem\+json/);
  });
});

describe('paths of the caller', () => {
  it('show each owner only their own sessions and questions', async () => {
    const theirs = { authorization: `Bearer ${t.otherToken}` };
    expect((await t.call('GET', '/api/v1/sessions', undefined, theirs)).json).toEqual({ sessions: [] });
    expect((await t.call('GET', '/api/v1/questions', undefined, theirs)).json).toEqual({ questions: [] });
    expect((await t.call('GET', '/api/v1/questions')).json.questions).toHaveLength(1);
  });

  it.each(['/api/v1/sessions', '/api/v1/questions', '/api/v1/status'])(
    '%s is 401 for nobody and for a wrong token',
    async (path) => {
      t.desk.calls.length = 0;
      expect((await callUrl(`${t.url}${path}`, 'GET', {})).status).toBe(401);
      expect(t.desk.calls).toEqual([]);
      for (const authorization of ['Bearer wrong-token', 'Basic abc', 'Bearer', 'Bearer \u00ff']) {
        expect((await callUrl(`${t.url}${path}`, 'GET', { authorization })).status, authorization).toBe(401);
      }
    },
  );

  it('leave the session as it was', async () => {
    const { json } = await t.call('GET', `/api/v1/sessions/${sessionId}`);
    expect(json).toMatchObject({ title: 'mine', awaiting: [{ tool_call_id: 'toolu_1', state: 'waiting' }] });
  });

  it('are open for health, readiness and the document alone', async () => {
    for (const path of ['/healthz', '/readyz', '/api/v1/openapi.json']) {
      expect((await callUrl(`${t.url}${path}`, 'GET', {})).status, path).toBe(200);
    }
    const figures = (await callUrl(`${t.url}/metrics`, 'GET', {})).text;
    expect(figures).toContain('engram_sse_streams 0');
    for (const line of [
      'engram_database_up 1',
      'engram_questions_waiting 1',
      'engram_commands_unhanded 0',
      'engram_commands_oldest_unhanded_seconds 0',
      'engram_hosts{state="alive"} 1',
      'engram_live_chunks_dropped 0',
    ]) {
      expect(figures).toContain(line);
    }
    expect((await callUrl(`${t.url}/metrics`, 'GET', { 'x-forwarded-for': '203.0.113.9' })).status).toBe(401);
  });

  it('answer 404 everywhere once the session is deleted', async () => {
    const made = await t.call('POST', '/api/v1/sessions', {});
    expect((await t.call('DELETE', `/api/v1/sessions/${made.json.id}`)).status).toBe(204);
    for (const spec of scoped) {
      const answer = await t.call(spec.method, pathOf(spec.path, made.json.id), bodies[spec.operationId]);
      expect(answer.status, spec.operationId).toBe(404);
    }
  });
});
