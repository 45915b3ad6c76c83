// Answering, dismissing, attending: the rules of the API on a real log. Field cases AUQ-06, AUQ-16,
// AUQ-17, AUQ-21.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EventPage, QuestionPage, ServerStatus, SessionPage, SessionReply } from '../src/api-schemas.js';
import { eventSchemas } from '../src/event-schemas.js';
import { askQuestion, type DoorUnderTest, EDITOR, LANGUAGES, startDoor } from './door-under-test.js';

let t: DoorUnderTest;
let id: string;

beforeAll(async () => {
  t = await startDoor();
});
afterAll(() => t.close());
beforeEach(async () => {
  id = (await t.call('POST', '/api/v1/sessions', {})).json.id;
  await askQuestion(t.coordinator, id, 'toolu_1', [EDITOR, LANGUAGES]);
});

const GOOD = { 'Which editor?': ['vi'], 'Which languages?': ['C', 'my own words'] };
const answer = (answers: unknown, tool_call_id = 'toolu_1') =>
  t.call('POST', `/api/v1/sessions/${id}/answers`, { tool_call_id, answers });
const typesOf = async (): Promise<string[]> =>
  (await t.call('GET', `/api/v1/sessions/${id}/events`)).json.events.map((e: { type: string }) => e.type);

describe('answers', () => {
  it('that fit are stored once; the same again is accepted, another is 409 and the first stays', async () => {
    const first = await answer(GOOD);
    expect([first.status, first.json]).toEqual([202, { tool_call_id: 'toolu_1', state: 'sent' }]);
    expect((await answer(GOOD)).status).toBe(202);
    const other = await answer({ ...GOOD, 'Which editor?': ['ed'] });
    expect([other.status, other.json.code]).toEqual([409, 'question_closed']);
    expect((await typesOf()).filter((type) => type === 'answer_submitted')).toHaveLength(1);
    const { json } = await t.call('GET', `/api/v1/sessions/${id}`);
    expect(json.awaiting).toMatchObject([{ tool_call_id: 'toolu_1', state: 'sent' }]);
  });

  it('of two devices at once: one is stored, both learn the same', async () => {
    const both = await Promise.all([answer(GOOD), answer({ ...GOOD, 'Which editor?': ['ed'] })]);
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([202, 409]));
    const { json } = await t.call('GET', `/api/v1/sessions/${id}/events`);
    expect(json.events.filter((e: { type: string }) => e.type === 'answer_submitted')).toHaveLength(1);
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing', {}, /"Which editor\?" has no answer/],
    ['an empty list', { ...GOOD, 'Which editor?': [] }, /"Which editor\?" has no answer/],
    ['spaces', { ...GOOD, 'Which editor?': ['  '] }, /blank/],
    ['white space of other kinds', { ...GOOD, 'Which languages?': ['\t\n'] }, /blank/],
    ['only a part', { 'Which editor?': ['vi'] }, /"Which languages\?" has no answer/],
    ['two values for a single choice', { ...GOOD, 'Which editor?': ['vi', 'ed'] }, /exactly one/],
    ['another question', { ...GOOD, 'other question': ['a'] }, /not one of the questions/],
    ['a name of JavaScript', { ...GOOD, constructor: ['a'] }, /not one of the questions/],
  ])('with %s are 422 invalid_answers and the card stays open', async (_name, answers, detail) => {
    const refused = await answer(answers);
    expect([refused.status, refused.json.code]).toEqual([422, 'invalid_answers']);
    expect(refused.json.detail).toMatch(detail);
    expect((await t.call('GET', `/api/v1/sessions/${id}`)).json.awaiting[0].state).toBe('waiting');
  });

  it('under the name __proto__ are refused too', async () => {
    const body =
      '{"tool_call_id":"toolu_1","answers":{"Which editor?":["vi"],"Which languages?":["C"],"__proto__":["x"]}}';
    const response = await fetch(`${t.url}/api/v1/sessions/${id}/answers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${t.token}`, 'content-type': 'application/json' },
      body,
    });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: 'invalid_answers' });
  });

  it('for a question that does not exist are the same 404 as for a session that does not', async () => {
    const none = await answer(GOOD, 'toolu_none');
    const missing = await t.call('GET', '/api/v1/sessions/00000000-0000-4000-8000-000000000000');
    expect([none.status, none.text]).toEqual([404, missing.text]);
    for (const odd of ['', 'a\u0000b', '__proto__', 'x'.repeat(5_000)]) {
      expect((await answer(GOOD, odd)).status, JSON.stringify(odd.slice(0, 20))).toBe(404);
    }
  });
});

describe('dismissing', () => {
  const dismiss = (body?: unknown, call = 'toolu_1') =>
    t.call('POST', `/api/v1/sessions/${id}/questions/${call}/dismiss`, body);

  it('closes the card; the same again is 202, a late answer is 409', async () => {
    expect((await dismiss()).status).toBe(202);
    expect((await dismiss()).status).toBe(202);
    expect((await answer(GOOD)).json.code).toBe('question_closed');
    const { json } = await t.call('GET', `/api/v1/sessions/${id}/events`);
    expect(json.events.filter((e: { type: string }) => e.type === 'question_dismissed')).toMatchObject([
      { tool_call_id: 'toolu_1', reason: 'declined', by: { id: 'local' } },
    ]);
    expect((await t.call('GET', `/api/v1/sessions/${id}`)).json.awaiting).toEqual([]);
  });

  it('is 409 after an answer and 404 for an unknown question', async () => {
    await answer(GOOD);
    expect((await dismiss({ reason: 'changed my mind' })).json.code).toBe('question_closed');
    expect((await dismiss({}, 'toolu_none')).status).toBe(404);
  });
});

describe('attending', () => {
  const attend = (call = 'toolu_1') => t.call('POST', `/api/v1/sessions/${id}/questions/${call}/attend`);

  it('is noted and stores nothing', async () => {
    const before = await typesOf();
    const noted = await attend();
    expect([noted.status, noted.json]).toEqual([202, { tool_call_id: 'toolu_1', hold_ms: 120_000 }]);
    expect(await typesOf()).toEqual(before);
  });

  it('is 409 once closed and 404 for an unknown question', async () => {
    expect((await attend('toolu_none')).status).toBe(404);
    await t.call('POST', `/api/v1/sessions/${id}/questions/toolu_1/dismiss`);
    expect((await attend()).json.code).toBe('question_closed');
  });
});

describe('interrupting', () => {
  it('closes a waiting question with an event; the late answer is a typed 409', async () => {
    const stopped = await t.call('POST', `/api/v1/sessions/${id}/interrupt`);
    expect(stopped.status).toBe(202);
    expect((await typesOf()).at(-1)).toBe('question_dismissed');
    expect((await answer(GOOD)).json.code).toBe('question_closed');
  });
});

describe('all waiting questions', () => {
  it('are listed oldest first, page by page, and leave the list when they are closed', async () => {
    const ids: string[] = [];
    let path = '/api/v1/questions?state=pending&limit=2';
    for (;;) {
      const { json } = await t.call('GET', path);
      ids.push(...json.questions.map((q: { session_id: string; asked_at: string }) => q.session_id));
      if (json.next_cursor === undefined) break;
      path = `/api/v1/questions?limit=2&cursor=${encodeURIComponent(json.next_cursor)}`;
    }
    expect(ids.at(-1)).toBe(id);
    expect(new Set(ids).size).toBe(ids.length);
    await t.call('POST', `/api/v1/sessions/${id}/questions/toolu_1/dismiss`);
    const { json } = await t.call('GET', '/api/v1/questions');
    expect(json.questions.map((q: { session_id: string }) => q.session_id)).not.toContain(id);
  });
});

describe('sleeping and waking', () => {
  it('answers with the status, and 409 while a run is open', async () => {
    expect((await t.call('POST', `/api/v1/sessions/${id}/wake`)).json).toEqual({ status: 'active' });
    expect((await t.call('POST', `/api/v1/sessions/${id}/sleep`)).status).toBe(202);
  });
});

describe('the documents', () => {
  it('name every field of what the API really answers', async () => {
    const exact = (schema: z.ZodType, value: unknown) => expect(schema.parse(value)).toEqual(value);
    await answer(GOOD);
    const session = (await t.call('GET', `/api/v1/sessions/${id}`)).json;
    expect(session.undelivered).toHaveLength(1);
    exact(SessionReply, session);
    exact(SessionPage, (await t.call('GET', '/api/v1/sessions')).json);
    exact(QuestionPage, (await t.call('GET', '/api/v1/questions')).json);
    exact(ServerStatus, (await t.call('GET', '/api/v1/status')).json);
    const { json } = await t.call('GET', `/api/v1/sessions/${id}/events`);
    exact(EventPage, json);
    expect(json.events.length).toBeGreaterThan(5);
    for (const event of json.events) exact(eventSchemas.get(event.type) ?? z.never(), event);
  });
});
