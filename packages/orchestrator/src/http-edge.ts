// The edge where HTTP becomes a checked call: body parsing, request ids, security headers, the Host
// check, and one way out for every error. What is not a route is answered here too: 405 with Allow
// where the path exists, 404 elsewhere.

import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { notFound, Problem } from './problem.js';
import { isAcceptedHost } from './request-origin.js';
import type { ApiRoute } from './route-table.js';
import { COMMON_HEADERS } from './security-headers.js';
import { toProblem } from './to-problem.js';

export const BODY_LIMIT = 256 * 1024;

/** The caller's own id when it is harmless, else a fresh one. */
export function toRequestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
}

export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply
    .code(problem.status)
    .headers({ 'cache-control': 'no-store', ...problem.headers })
    .type('application/problem+json; charset=utf-8')
    .send(JSON.stringify(problem.body()));
}

export function createErrorHandler(log: Logger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const problem = toProblem(error);
    const facts = { requestId: request.id, code: problem.code, err: problem.extras.cause };
    if (problem.code === 'internal') log.error(facts, 'request failed');
    else if (problem.code === 'unavailable') log.warn(facts, 'request refused: unavailable');
    if (!reply.raw.headersSent) {
      reply.headers({ ...COMMON_HEADERS, 'x-request-id': request.id });
      sendProblem(reply, problem);
    } else {
      reply.raw.destroy();
    }
  };
}

/** What the HTTP parser itself refuses never becomes a request; it is answered on the bare socket. */
export function answerBrokenHttp(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Problem('too_large', { detail: 'The request line and headers are too long.' })
      : new Problem('invalid_request', {
          detail: error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'The request did not arrive in time.' : undefined,
        });
  const body = JSON.stringify(problem.body());
  socket.end(
    `HTTP/1.1 ${problem.status} ${problem.code}\r\nContent-Type: application/problem+json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function parseJsonBody(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(utf8.decode(body));
  } catch {
    throw new Problem('invalid_json', { detail: 'The body must be JSON in UTF-8.' });
  }
}

export function acceptOnlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
    const types = request.raw.headersDistinct['content-type']?.length ?? 0;
    if (types > 1 || (charset !== undefined && !/^utf-?8$/i.test(charset))) {
      done(new Problem('unsupported_media_type', { detail: 'Send the body as application/json in UTF-8.' }));
      return;
    }
    try {
      done(null, parseJsonBody(Buffer.isBuffer(body) ? body : Buffer.from(body)));
    } catch (error) {
      done(error instanceof Error ? error : new Error('body parser failed'));
    }
  });
}

export const OCTET_STREAM = 'application/octet-stream';

/**
 * Within this scope a body is bytes, of at most `limit`. What comes under another type is not looked at:
 * the body is then undefined, and the handler, behind the policy, says so.
 */
export function takeBytes(scope: FastifyInstance, limit: number): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: limit }, (request, body, done) => {
    const [type] = (request.headers['content-type'] ?? '').split(';');
    done(null, type?.trim().toLowerCase() === OCTET_STREAM ? body : undefined);
  });
  const answer = scope.errorHandler;
  scope.setErrorHandler((error, request, reply) => {
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    answer(code === 'FST_ERR_CTP_BODY_TOO_LARGE' ? tooLargeFile(limit) : error, request, reply);
  });
}

export function tooLargeFile(limit: number): Problem {
  return new Problem('too_large', { detail: `A file may have at most ${Math.floor(limit / 1024 / 1024)} MiB.` });
}

export interface EdgeRules {
  readonly boundToLoopback: boolean;
  readonly publicUrl: string | undefined;
  readonly isClosing: () => boolean;
}

/** Before anything else looks at a request. */
export function guardEveryRequest(app: FastifyInstance, rules: EdgeRules): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...COMMON_HEADERS, 'x-request-id': request.id });
    if (rules.isClosing()) {
      reply.header('connection', 'close');
      throw new Problem('unavailable', { detail: 'The server is stopping.' });
    }
    if (!isAcceptedHost(request.headers.host, rules)) {
      throw new Problem('invalid_request', {
        detail:
          'The Host header does not name this server. Use its loopback address, or the public URL it was started with.',
      });
    }
  });
}

/** `Allow` for a path of the table; undefined when no route has this path. */
export function createAllowLookup(routes: readonly ApiRoute[]): (path: string) => string | undefined {
  const methods = new Map<string, Set<string>>();
  for (const { spec } of routes) {
    const known = methods.get(spec.path) ?? new Set();
    known.add(spec.method);
    if (spec.method === 'GET') known.add('HEAD');
    methods.set(spec.path, known);
  }
  const table = [...methods].map(([path, allowed]) => ({
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    allow: [...allowed].sort().join(', '),
  }));
  return (path) => table.find(({ pattern }) => pattern.test(path))?.allow;
}

export function toNotRouted(allow: string | undefined): Problem {
  return allow === undefined
    ? notFound()
    : new Problem('method_not_allowed', { detail: `Use ${allow}.`, headers: { allow } });
}
