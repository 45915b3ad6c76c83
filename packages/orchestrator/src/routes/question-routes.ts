// Questions of the agents: list what waits, answer, dismiss, tell that somebody is answering. All
// that speaks to the agent stands under the same policy action as a prompt.

import { z } from 'zod';
import { AnswerInput, AnswerReply, AttendReply, CallReply, DismissInput, QuestionPage } from '../api-schemas.js';
import { invalidPageCursor } from '../cursors.js';
import { explainAnswers } from '../explain-answers.js';
import { isPlainId, queryLimit } from '../input-schemas.js';
import { notFound, Problem } from '../problem.js';
import { type ApiRoute, callerRoute, sessionRoute } from '../route-table.js';

function closed(): Problem {
  return new Problem('question_closed', {
    detail: 'It was answered otherwise or dismissed, or a prompt takes its place. The session shows what became of it.',
  });
}

function refusal(reason: 'not_found' | 'question_closed'): Problem {
  return reason === 'not_found' ? notFound() : closed();
}

const answer = sessionRoute(
  {
    method: 'POST',
    path: '/api/v1/sessions/{id}/answers',
    operationId: 'answerQuestion',
    summary: 'Answer a question; first stored wins, the same answer again is accepted',
    action: 'session.converse',
    body: AnswerInput,
    replies: { 202: { description: 'Stored; the agent wakes and goes on', schema: AnswerReply } },
  },
  async ({ session, body, caller, raw }, { desk }) => {
    const { tool_call_id } = body;
    if (!isPlainId(tool_call_id)) throw notFound();
    const invalid = (detail: string) => new Problem('invalid_answers', { detail });
    const answers = Object.entries(body.answers);
    // The schema leaves a key of this name out; nobody's question is called so.
    if (hasProtoKey(raw.body)) throw invalid('answers: "__proto__" is not one of the questions.');
    const outcome = await desk.acceptAnswer(session.id, { tool_call_id, answers: body.answers, by: caller.actor });
    if (outcome.ok) return { status: 202, body: { tool_call_id, state: outcome.state } };
    if (outcome.reason !== 'invalid_answers') throw refusal(outcome.reason);
    const question = session.awaiting.find((waiting) => waiting.tool_call_id === tool_call_id);
    throw invalid(
      (question && explainAnswers(question.questions, answers)) ??
        'answers: give every question its answer, under the exact text of the question.',
    );
  },
);

function hasProtoKey(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('answers' in body)) return false;
  const { answers } = body;
  return typeof answers === 'object' && answers !== null && Object.hasOwn(answers, '__proto__');
}

const dismiss = sessionRoute(
  {
    method: 'POST',
    path: '/api/v1/sessions/{id}/questions/{tool_call_id}/dismiss',
    operationId: 'dismissQuestion',
    summary: 'Close a question without an answer; the agent is told that the user declined',
    action: 'session.converse',
    body: DismissInput,
    bodyOptional: true,
    replies: { 202: { description: 'Stored', schema: CallReply } },
  },
  async ({ session, body, caller, param }, { desk }) => {
    const tool_call_id = param('tool_call_id');
    const reason = body.reason?.trim() || 'declined';
    const outcome = await desk.dismissQuestion(session.id, { tool_call_id, reason, by: caller.actor });
    if (!outcome.ok) throw refusal(outcome.reason);
    return { status: 202, body: { tool_call_id } };
  },
);

const attend = sessionRoute(
  {
    method: 'POST',
    path: '/api/v1/sessions/{id}/questions/{tool_call_id}/attend',
    operationId: 'attendQuestion',
    summary: 'Somebody is answering: the session may wake ahead and hold; repeat while it is worked on',
    action: 'session.converse',
    replies: { 202: { description: 'Noted; nothing is stored in the log', schema: AttendReply } },
  },
  async ({ session, param }, { desk, holdMs }) => {
    const tool_call_id = param('tool_call_id');
    const outcome = await desk.attendQuestion(session.id, tool_call_id, holdMs);
    if (!outcome.ok) throw refusal(outcome.reason);
    return { status: 202, body: { tool_call_id, hold_ms: holdMs } };
  },
);

const pending = callerRoute(
  {
    method: 'GET',
    path: '/api/v1/questions',
    operationId: 'listQuestions',
    summary: 'All questions the caller may answer, oldest first',
    action: 'questions.list',
    query: z.object({
      state: z.enum(['pending']).optional().meta({ default: 'pending' }),
      cursor: z.string().min(1).max(1024).optional(),
      limit: queryLimit(100, 100),
    }),
    replies: { 200: { description: 'A page of questions', schema: QuestionPage } },
  },
  async ({ query, caller }, { desk }) => {
    const page = await desk.listPendingQuestions({
      owner: caller.actor.id,
      limit: query.limit ?? 100,
      ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
    });
    if (!('items' in page)) throw invalidPageCursor();
    return {
      status: 200,
      body: {
        questions: page.items,
        ...(page.nextCursor === undefined ? {} : { next_cursor: page.nextCursor }),
      },
    };
  },
);

export const questionRoutes: readonly ApiRoute[] = [answer, dismiss, attend, pending];
