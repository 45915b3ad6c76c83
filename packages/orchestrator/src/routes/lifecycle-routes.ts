// Interrupt, sleep, wake: orders to the session itself.

import { StatusReply } from '../api-schemas.js';
import { notFound, Problem } from '../problem.js';
import { type ApiRoute, sessionRoute } from '../route-table.js';

const accepted = { 202: { description: 'Accepted; the status at that moment', schema: StatusReply } };

const interrupt = sessionRoute(
  {
    method: 'POST',
    path: '/api/v1/sessions/{id}/interrupt',
    operationId: 'interruptSession',
    summary: 'Stop the open run; a waiting question is closed',
    action: 'session.converse',
    replies: accepted,
  },
  async ({ session, caller }, { desk }) => {
    const outcome = await desk.interrupt(session.id, caller.actor);
    if (!outcome.ok) throw notFound();
    return { status: 202, body: { status: outcome.status } };
  },
);

const sleep = sessionRoute(
  {
    method: 'POST',
    path: '/api/v1/sessions/{id}/sleep',
    operationId: 'sleepSession',
    summary: 'Put the session to sleep now',
    action: 'session.manage',
    replies: accepted,
  },
  async ({ session }, { desk }) => {
    const outcome = await desk.sleep(session.id);
    if (outcome.ok) return { status: 202, body: { status: outcome.status } };
    if (outcome.reason === 'not_found') throw notFound();
    throw new Problem('run_open', { detail: 'The agent is working. Interrupt it first, or wait for the run to end.' });
  },
);

const wake = sessionRoute(
  {
    method: 'POST',
    path: '/api/v1/sessions/{id}/wake',
    operationId: 'wakeSession',
    summary: 'Wake the session; one that failed is tried again',
    action: 'session.manage',
    replies: accepted,
  },
  async ({ session }, { desk }) => {
    const outcome = await desk.wake(session.id);
    if (!outcome.ok) throw notFound();
    return { status: 202, body: { status: outcome.status } };
  },
);

export const lifecycleRoutes: readonly ApiRoute[] = [interrupt, sleep, wake];
