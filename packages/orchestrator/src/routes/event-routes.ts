// The log of a session: a page of JSON, or a stream that replays and then stays live.

import { z } from 'zod';
import { EventPage } from '../api-schemas.js';
import { parseCursor, startCursor } from '../cursors.js';
import { queryLimit } from '../input-schemas.js';
import { Problem } from '../problem.js';
import { type ApiRoute, type RawCall, STREAMED, sessionRoute } from '../route-table.js';

function wantsStream(raw: RawCall): boolean {
  if (raw.method !== 'GET') return false;
  return (raw.headers.accept ?? '')
    .split(',')
    .map((range) => range.trim().toLowerCase())
    .some((range) => /^text\/event-stream\s*(;|$)/.test(range) && !/;\s*q=0(\.0*)?\s*(;|$)/.test(range));
}

const events = sessionRoute(
  {
    method: 'GET',
    path: '/api/v1/sessions/{id}/events',
    operationId: 'readEvents',
    summary: 'Events with idx > since: a page of JSON, or with Accept: text/event-stream the whole and then live',
    action: 'session.read',
    query: z.object({
      since: z.string().optional().meta({ type: 'integer', minimum: 0, description: 'Only events with a larger idx.' }),
      before: z.string().optional().meta({
        type: 'integer',
        minimum: 0,
        description:
          'For a page of JSON: the newest events with a smaller idx, oldest first; since is then not looked at. Larger than any idx gives the end of the log.',
      }),
      limit: queryLimit(1000, 500),
    }),
    headers: [
      {
        name: 'Last-Event-ID',
        description: 'As since; the larger one wins.',
        schema: z.string().meta({ type: 'integer', minimum: 0 }),
      },
    ],
    replies: {
      200: {
        description: 'A page, oldest first; or a stream',
        schema: EventPage,
        stream:
          'Frames `id: <idx>`, `event: <type>`, `data: <event JSON>`; `agent_message_chunk` and `lagged` have no id.',
      },
    },
  },
  async ({ session, query, raw }, { desk, streams, isClosing }) => {
    const since = startCursor(query.since, raw.headersDistinct['last-event-id'] ?? []);
    if (wantsStream(raw)) {
      if (isClosing()) throw new Problem('unavailable', { detail: 'The server is stopping.' });
      if (streams.isFull()) throw new Problem('rate_limited', { detail: 'Too many open event streams.' });
      streams.open(session.id, since, raw.hijack());
      return STREAMED;
    }
    const before = parseCursor('before', query.before);
    const limit = query.limit ?? 500;
    const edge = before === undefined ? { since } : { before };
    const { events: page, tail } = await desk.readEventTexts(session.id, edge, limit);
    const nextSince = page.at(-1)?.idx ?? Math.min(since, tail);
    return {
      status: 200,
      contentType: 'application/json; charset=utf-8',
      body: `{"events":[${page.map(({ json }) => json).join(',')}],"next_since":${nextSince}}`,
    };
  },
);

export const eventRoutes: readonly ApiRoute[] = [events];
