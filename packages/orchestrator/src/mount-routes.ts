// Routes of the table → fastify. In this order, and nothing of a later step happens when an earlier
// one says no: identity, admission, rate, body, session and ownership, input, handler.

import { inSpan, startSpan } from '@engram/harness-proto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Door } from './door.js';
import { OCTET_STREAM, takeBytes } from './http-edge.js';
import { type Identity, identify, isOperator, NOBODY } from './identity.js';
import { admit, ruleOf } from './policy.js';
import { notFound, Problem } from './problem.js';
import type { RateLimiter } from './rate-limit.js';
import { type ApiRoute, type Outcome, type RawCall, STREAMED } from './route-table.js';

export interface MountDeps {
  readonly door: Door;
  readonly publicUrl: string | undefined;
  readonly metricsToken: string | undefined;
  /** Calls that change state, by owner. */
  readonly writes: RateLimiter;
  /** Failed identities, by peer. */
  readonly failures: RateLimiter;
}

function toStrings(params: unknown): Record<string, string> {
  const entries = Object.entries(params ?? {});
  return Object.fromEntries(entries.filter((e): e is [string, string] => typeof e[1] === 'string'));
}

export function mountRoute(app: FastifyInstance, route: ApiRoute, deps: MountDeps): void {
  const { spec } = route;
  const { door } = deps;
  const needsCaller = ruleOf(spec.action) !== 'anybody' && ruleOf(spec.action) !== 'operator';
  const identities = new WeakMap<FastifyRequest, Identity & { readonly operator: boolean }>();

  async function whoCalls(request: FastifyRequest): Promise<Identity> {
    if (!needsCaller) return NOBODY;
    return identify(request.raw, door.desk, { name: door.login.cookieName, publicUrl: deps.publicUrl });
  }

  async function admitCall(request: FastifyRequest): Promise<void> {
    const now = Date.now();
    try {
      const identity = await whoCalls(request);
      const operator = ruleOf(spec.action) === 'operator' && isOperator(request.raw, deps.metricsToken);
      const verdict = admit(spec.action, { caller: identity.caller, operator });
      if (!verdict.allow) throw verdict.reason === 'not_found' ? notFound() : missingIdentity(spec.action);
      identities.set(request, { ...identity, operator });
      const owner = identity.caller?.actor.id;
      if (owner !== undefined && spec.method !== 'GET' && !deps.writes.take(owner, now)) {
        throw new Problem('rate_limited', { detail: 'Too many changes at once; slow down and try again.' });
      }
    } catch (error) {
      const failed = error instanceof Problem && error.code === 'unauthenticated';
      if (!failed || deps.failures.take(request.ip, now)) throw error;
      throw new Problem('rate_limited', { detail: 'Too many calls without a valid identity.' });
    }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const identity = identities.get(request);
    if (identity === undefined) throw notFound();
    const raw: RawCall = {
      method: request.method,
      params: toStrings(request.params),
      query: request.query,
      body: request.body,
      headers: request.headers,
      headersDistinct: request.raw.headersDistinct,
      caller: identity.caller,
      operator: identity.operator,
      browserSecret: identity.browserSecret,
      hijack() {
        reply.hijack();
        for (const [name, value] of Object.entries(reply.getHeaders())) {
          if (value !== undefined) reply.raw.setHeader(name, value);
        }
        return reply.raw;
      },
    };
    const outcome = await traced(request, () => route.run(raw, door));
    if (outcome === STREAMED) return reply;
    reply.code(outcome.status).headers({ 'cache-control': 'no-store', ...outcome.headers });
    if (outcome.body === undefined) return reply.send();
    if (outcome.body instanceof Uint8Array) {
      return reply.type(outcome.contentType ?? OCTET_STREAM).send(Buffer.from(outcome.body));
    }
    const text = typeof outcome.body === 'string' ? outcome.body : JSON.stringify(outcome.body);
    return reply.type(outcome.contentType ?? 'application/json; charset=utf-8').send(text);
  }

  /** What changes something is traced; a reader's own trace goes on here. */
  async function traced<T extends Outcome>(request: FastifyRequest, run: () => Promise<T>): Promise<T> {
    const { traceparent: parent } = request.headers;
    const span =
      spec.method === 'GET'
        ? undefined
        : startSpan(`${spec.method} ${spec.path}`, {
            kind: 'server',
            ...(typeof parent === 'string' ? { parent } : {}),
            attributes: {
              'http.request.method': spec.method,
              'http.route': spec.path,
              'engram.request_id': request.id,
            },
          });
    if (span === undefined) return run();
    try {
      const outcome = await inSpan(span, run);
      span.end(outcome === STREAMED ? {} : { attributes: { 'http.response.status_code': outcome.status } });
      return outcome;
    } catch (error) {
      span.end({ failed: error instanceof Problem ? error.code : 'internal' });
      throw error;
    }
  }

  const mounted = {
    method: spec.method,
    url: spec.path.replace(/\{(\w+)\}/g, ':$1'),
    onRequest: admitCall,
    handler: handle,
  };
  const { uploadBytes } = spec;
  if (uploadBytes === undefined) {
    app.route(mounted);
    return;
  }
  // A scope of its own: nowhere else are bytes a body.
  app.register(async (scope) => {
    takeBytes(scope, uploadBytes);
    scope.route(mounted);
  });
}

function missingIdentity(action: string): Problem {
  return new Problem('unauthenticated', {
    detail:
      ruleOf(action) === 'operator'
        ? 'Only from the machine itself, or with the metrics token.'
        : ruleOf(action) === 'token_holder'
          ? 'This needs "Authorization: Bearer <token>".'
          : 'Send "Authorization: Bearer <token>", or sign in with a link from `engram open`.',
  });
}
