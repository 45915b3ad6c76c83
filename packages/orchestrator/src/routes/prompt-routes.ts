// Prompts: say something, change or take back what still waits in the queue.

import { randomUUID } from 'node:crypto';
import { PromptEdit, PromptInput, PromptReply } from '../api-schemas.js';
import { invalidBody, notFound, Problem } from '../problem.js';
import { type ApiRoute, sessionRoute } from '../route-table.js';

function refusal(reason: 'not_found' | 'prompt_not_queued'): Problem {
  if (reason === 'not_found') return notFound();
  return new Problem('prompt_not_queued', {
    detail: 'The agent has this prompt already, or it was never queued. Send another prompt, or interrupt.',
  });
}

const send = sessionRoute(
  {
    method: 'POST',
    path: '/api/v1/sessions/{id}/prompts',
    operationId: 'sendPrompt',
    summary: 'Give the agent a prompt; it wakes, or queues it behind the open run',
    action: 'session.converse',
    body: PromptInput,
    replies: { 202: { description: 'Stored; the same prompt_id again changes nothing', schema: PromptReply } },
  },
  async ({ session, body, caller }, { desk }) => {
    const prompt_id = body.prompt_id ?? randomUUID();
    const { text, attachments } = body;
    const outcome = await desk.acceptPrompt(session.id, {
      text,
      prompt_id,
      by: caller.actor,
      ...(attachments === undefined ? {} : { attachments }),
    });
    if (!outcome.ok && outcome.reason === 'attachment_missing') {
      throw invalidBody('attachments', 'names a file that this session does not have; upload it first');
    }
    if (!outcome.ok) throw notFound();
    return { status: 202, body: { prompt_id } };
  },
);

const edit = sessionRoute(
  {
    method: 'PATCH',
    path: '/api/v1/sessions/{id}/prompts/{prompt_id}',
    operationId: 'editPrompt',
    summary: 'Change a prompt that does not run yet',
    action: 'session.converse',
    body: PromptEdit,
    replies: { 202: { description: 'Stored', schema: PromptReply } },
  },
  async ({ session, body, param }, { desk }) => {
    const prompt_id = param('prompt_id');
    const outcome = await desk.editPrompt(session.id, prompt_id, body.text);
    if (!outcome.ok) throw refusal(outcome.reason);
    return { status: 202, body: { prompt_id } };
  },
);

const dequeue = sessionRoute(
  {
    method: 'DELETE',
    path: '/api/v1/sessions/{id}/prompts/{prompt_id}',
    operationId: 'dequeuePrompt',
    summary: 'Take back a prompt that does not run yet',
    action: 'session.converse',
    replies: { 202: { description: 'Stored', schema: PromptReply } },
  },
  async ({ session, param }, { desk }) => {
    const prompt_id = param('prompt_id');
    const outcome = await desk.dequeuePrompt(session.id, prompt_id);
    if (!outcome.ok) throw refusal(outcome.reason);
    return { status: 202, body: { prompt_id } };
  },
);

export const promptRoutes: readonly ApiRoute[] = [send, edit, dequeue];
