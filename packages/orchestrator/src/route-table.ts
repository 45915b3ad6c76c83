// What a route is: method, path, schemas, policy action, handler. The server and the OpenAPI
// document are both made from such values, so neither can know a call that the other does not.
// The three makers differ in what the policy has established before the handler runs.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Session } from '@engram/coordinator';
import { z } from 'zod';
import type { Door } from './door.js';
import { toInvalid } from './explain-issues.js';
import { isPlainId, isSessionId } from './input-schemas.js';
import { type Action, type Caller, decide } from './policy.js';
import { notFound, Problem } from './problem.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Reply {
  readonly status: number;
  /** JSON unless `contentType` says otherwise. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The handler took the raw response over and ends it itself. */
export const STREAMED = Symbol('streamed');
export type Outcome = Reply | typeof STREAMED;

/** A call as the HTTP server hands it over, nothing checked but its identity. */
export interface RawCall {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly headersDistinct: NodeJS.Dict<string[]>;
  readonly caller: Caller | undefined;
  readonly operator: boolean;
  /** SHA-256 of the browser session's secret, when the caller came by cookie. */
  readonly browserSecret: Uint8Array | undefined;
  /** Stops the framework from replying; returns the raw response with the headers decided so far set on it. */
  hijack(): ServerResponse;
}

export interface Call<Q, B> {
  readonly raw: RawCall;
  readonly query: Q;
  readonly body: B;
  /** A path parameter that could be an id; anything else is `not_found`. */
  readonly param: (name: string) => string;
}

export interface ReplySpec {
  readonly description: string;
  readonly schema?: z.ZodType;
  readonly contentType?: string;
  /** A second representation, chosen by Accept. */
  readonly stream?: string;
}

export interface HeaderSpec {
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodType;
}

export interface RouteSpec<Q, B> {
  readonly method: Method;
  /** OpenAPI form: `/api/v1/sessions/{id}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly action: Action;
  readonly query?: z.ZodType<Q>;
  readonly body?: z.ZodType<B>;
  readonly bodyOptional?: boolean;
  /** The body is bytes (`application/octet-stream`) of at most so many; `raw.body` is then a Buffer. */
  readonly uploadBytes?: number;
  readonly headers?: readonly HeaderSpec[];
  readonly replies: Readonly<Record<number, ReplySpec>>;
}

export interface ApiRoute {
  readonly spec: RouteSpec<unknown, unknown>;
  run(raw: RawCall, door: Door): Promise<Outcome>;
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw toInvalid(parsed.error);
  return parsed.data;
}

function toCall<Q, B>(spec: RouteSpec<Q, B>, raw: RawCall): Call<Q, B> {
  // Without a schema the type is `undefined` by inference, and so is the value.
  const none = z.custom<never>(() => true);
  const query = parse<Q>(spec.query ?? none, spec.query === undefined ? undefined : raw.query);
  const body = parse<B>(
    spec.body ?? none,
    spec.body === undefined ? undefined : raw.body === undefined && spec.bodyOptional ? {} : raw.body,
  );
  return {
    raw,
    query,
    body,
    param(name) {
      const value = raw.params[name];
      if (value === undefined || !isPlainId(value)) throw notFound();
      return value;
    },
  };
}

function deny(reason: 'unauthenticated' | 'not_found'): Problem {
  return reason === 'not_found' ? notFound() : new Problem('unauthenticated');
}

/** No identity needed (or the operator's, checked before). */
export function openRoute<Q = undefined, B = undefined>(
  spec: RouteSpec<Q, B>,
  handle: (call: Call<Q, B>, door: Door) => Promise<Outcome>,
): ApiRoute {
  return {
    spec,
    run: async (raw, door) => {
      const verdict = decide(spec.action, { caller: raw.caller, operator: raw.operator, sessionOwner: undefined });
      if (!verdict.allow) throw deny(verdict.reason);
      return handle(toCall(spec, raw), door);
    },
  };
}

export function callerRoute<Q = undefined, B = undefined>(
  spec: RouteSpec<Q, B>,
  handle: (call: Call<Q, B> & { readonly caller: Caller }, door: Door) => Promise<Outcome>,
): ApiRoute {
  return {
    spec,
    run: async (raw, door) => {
      const { caller } = raw;
      const verdict = decide(spec.action, { caller, operator: raw.operator, sessionOwner: undefined });
      if (!verdict.allow) throw deny(verdict.reason);
      if (caller === undefined) throw deny('unauthenticated');
      return handle({ ...toCall(spec, raw), caller }, door);
    },
  };
}

/** The path names a session by `{id}`; it is looked up once and its owner compared before anything else. */
export function sessionRoute<Q = undefined, B = undefined>(
  spec: RouteSpec<Q, B>,
  handle: (call: Call<Q, B> & { readonly caller: Caller; readonly session: Session }, door: Door) => Promise<Outcome>,
): ApiRoute {
  return {
    spec,
    run: async (raw, door) => {
      const { caller } = raw;
      const id = raw.params.id;
      const session = id !== undefined && isSessionId(id) ? await door.desk.getSession(id) : undefined;
      const verdict = decide(spec.action, { caller, operator: raw.operator, sessionOwner: session?.owner });
      if (!verdict.allow) throw deny(verdict.reason);
      if (caller === undefined || session === undefined) throw notFound();
      return handle({ ...toCall(spec, raw), caller, session }, door);
    },
  };
}
