// Sessions as a whole: make, list, show, rename, delete.

import type { SessionStatus } from '@engram/coordinator';
import { z } from 'zod';
import { NewSessionInput, SessionPage, SessionPatch, SessionReply } from '../api-schemas.js';
import { invalidPageCursor } from '../cursors.js';
import { SessionStatus as StatusSchema } from '../event-schemas.js';
import { queryLimit } from '../input-schemas.js';
import { invalidBody, notFound } from '../problem.js';
import { type ApiRoute, callerRoute, type RawCall, sessionRoute } from '../route-table.js';

const KEY_HEADER = 'Idempotency-Key';

function idempotencyKey(raw: RawCall): string | undefined {
  const values = raw.headersDistinct['idempotency-key'];
  if (values === undefined) return undefined;
  const [key] = values;
  if (values.length > 1 || key === undefined || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw invalidBody(KEY_HEADER, 'send it once, with 1 to 255 visible ASCII characters and no spaces');
  }
  return key;
}

const cursor = z.string().min(1).max(1024).optional().meta({ description: 'next_cursor of the page before.' });

const create = callerRoute(
  {
    method: 'POST',
    path: '/api/v1/sessions',
    operationId: 'createSession',
    summary: 'Make a session, with or without a first prompt',
    action: 'sessions.create',
    body: NewSessionInput,
    bodyOptional: true,
    headers: [
      {
        name: KEY_HEADER,
        description: 'The same key within 24 h gives the session made first.',
        schema: z.string().min(1).max(255),
      },
    ],
    replies: { 201: { description: 'The session', schema: SessionReply } },
  },
  async ({ raw, body, caller }, { desk, workspaces }) => {
    const key = idempotencyKey(raw);
    const session = await desk.createSession({
      owner: caller.actor,
      agent: body.agent ?? 'claude',
      workspace: await workspaces.resolve(body.workspace ?? { kind: 'empty' }),
      ...(body.title === undefined ? {} : { title: body.title.trim() }),
      ...(body.prompt === undefined ? {} : { prompt: body.prompt }),
      ...(body.model === undefined ? {} : { model: body.model }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
    return { status: 201, body: session, headers: { location: `/api/v1/sessions/${session.id}` } };
  },
);

const list = callerRoute(
  {
    method: 'GET',
    path: '/api/v1/sessions',
    operationId: 'listSessions',
    summary: 'Own sessions, newest activity first',
    action: 'sessions.list',
    query: z.object({
      status: StatusSchema.optional(),
      awaiting: z.enum(['true', 'false']).optional().meta({ description: 'Only those with, or without, a question.' }),
      cursor,
      limit: queryLimit(200, 50),
    }),
    replies: { 200: { description: 'A page of sessions', schema: SessionPage } },
  },
  async ({ query, caller }, { desk }) => {
    const status: SessionStatus | undefined = query.status;
    const page = await desk.listSessions({
      owner: caller.actor.id,
      limit: query.limit ?? 50,
      ...(status === undefined ? {} : { status }),
      ...(query.awaiting === undefined ? {} : { awaiting: query.awaiting === 'true' }),
      ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
    });
    if (!('items' in page)) throw invalidPageCursor();
    return {
      status: 200,
      body: {
        sessions: page.items,
        ...(page.nextCursor === undefined ? {} : { next_cursor: page.nextCursor }),
      },
    };
  },
);

const show = sessionRoute(
  {
    method: 'GET',
    path: '/api/v1/sessions/{id}',
    operationId: 'getSession',
    summary: 'One session',
    action: 'session.read',
    replies: { 200: { description: 'The session', schema: SessionReply } },
  },
  async ({ session }) => ({ status: 200, body: session }),
);

const patch = sessionRoute(
  {
    method: 'PATCH',
    path: '/api/v1/sessions/{id}',
    operationId: 'patchSession',
    summary: 'Rename a session',
    action: 'session.manage',
    body: SessionPatch,
    replies: { 200: { description: 'The session', schema: SessionReply } },
  },
  async ({ session, body }, { desk }) => {
    if (body.title === undefined) return { status: 200, body: session };
    const renamed = await desk.renameSession(session.id, body.title.trim());
    if (renamed === undefined) throw notFound();
    return { status: 200, body: renamed };
  },
);

const remove = sessionRoute(
  {
    method: 'DELETE',
    path: '/api/v1/sessions/{id}',
    operationId: 'deleteSession',
    summary: 'End a session everywhere and remove its log and files',
    action: 'session.manage',
    replies: { 204: { description: 'Deleted' } },
  },
  async ({ session }, { desk }) => {
    if (!(await desk.deleteSession(session.id))) throw notFound();
    return { status: 204 };
  },
);

export const sessionRoutes: readonly ApiRoute[] = [create, list, show, patch, remove];
