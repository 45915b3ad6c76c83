// The route table and the event schemas → documents: OpenAPI 3.1 and one JSON Schema for all event
// kinds. Deterministic, so that the committed copies can be compared with the code.

import { z } from 'zod';
import { eventSchemas } from './event-schemas.js';
import { ruleOf } from './policy.js';
import { PROBLEM_CODES } from './problem.js';
import type { ApiRoute, HeaderSpec, ReplySpec } from './route-table.js';

export type JsonObject = { readonly [key: string]: unknown };

const API_VERSION = '1';

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What the generator adds of its own and nobody reading the document needs. */
function isNoise(schema: JsonObject, key: string): boolean {
  const value = schema[key];
  return (
    (key === 'readOnly' && value === true) ||
    (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
    (key === 'pattern' && typeof value === 'string' && schema.format === 'date-time')
  );
}

/** `#/$defs/X` → `to` + X, at any depth. */
function repoint(value: unknown, to: string): unknown {
  if (Array.isArray(value)) return value.map((item) => repoint(item, to));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key]) => !isNoise(value, key));
  return Object.fromEntries(
    entries.map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string' ? inner.replace('#/$defs/', to) : repoint(inner, to),
    ]),
  );
}

/** A schema's JSON, its named parts put into `named`. */
function toJson(schema: z.ZodType, io: 'input' | 'output', named: Map<string, unknown>, to: string): unknown {
  const { $schema: _schema, $defs, ...json } = z.toJSONSchema(schema, { io, target: 'draft-2020-12' });
  for (const [name, part] of Object.entries($defs ?? {})) {
    const { id: _id, ...rest } = part;
    named.set(name, repoint(rest, to));
  }
  const { id, ...rest } = json;
  if (typeof id !== 'string') return repoint(rest, to);
  named.set(id, repoint(rest, to));
  return { $ref: `${to}${id}` };
}

const COMPONENTS = '#/components/schemas/';

function sorted(named: ReadonlyMap<string, unknown>): JsonObject {
  return Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function pathParameters(path: string): JsonObject[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters(query: z.ZodType | undefined, named: Map<string, unknown>): JsonObject[] {
  if (query === undefined) return [];
  const json = toJson(query, 'output', named, COMPONENTS);
  const properties = isObject(json) && isObject(json.properties) ? json.properties : {};
  const required = isObject(json) && Array.isArray(json.required) ? json.required : [];
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.includes(name) ? { required: true } : {}),
    schema,
  }));
}

function headerParameters(headers: readonly HeaderSpec[], named: Map<string, unknown>): JsonObject[] {
  return headers.map(({ name, description, schema }) => ({
    name,
    in: 'header',
    description,
    schema: toJson(schema, 'input', named, COMPONENTS),
  }));
}

function toResponse(reply: ReplySpec, named: Map<string, unknown>): JsonObject {
  const content: Record<string, unknown> = {};
  if (reply.schema !== undefined) {
    content['application/json'] = { schema: toJson(reply.schema, 'input', named, COMPONENTS) };
  }
  if (reply.contentType !== undefined) {
    const binary = reply.contentType === '*/*' || reply.contentType === 'application/octet-stream';
    content[reply.contentType] = { schema: { type: 'string', ...(binary ? { format: 'binary' } : {}) } };
  }
  if (reply.stream !== undefined) {
    content['text/event-stream'] = { schema: { type: 'string', description: reply.stream } };
  }
  return { description: reply.description, ...(Object.keys(content).length === 0 ? {} : { content }) };
}

function toOperation({ spec }: ApiRoute, named: Map<string, unknown>): JsonObject {
  const parameters = [
    ...pathParameters(spec.path),
    ...queryParameters(spec.query, named),
    ...headerParameters(spec.headers ?? [], named),
  ];
  const responses = Object.fromEntries(
    Object.entries(spec.replies).map(([status, reply]) => [status, toResponse(reply, named)]),
  );
  const rule = ruleOf(spec.action);
  return {
    operationId: spec.operationId,
    summary: spec.summary,
    ...(rule === 'anybody' || rule === 'operator' ? { security: [] } : {}),
    ...(rule === 'token_holder' ? { security: [{ token: [] }] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(spec.uploadBytes === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
          },
        }),
    ...(spec.body === undefined
      ? {}
      : {
          requestBody: {
            ...(spec.bodyOptional ? {} : { required: true }),
            content: { 'application/json': { schema: toJson(spec.body, 'input', named, COMPONENTS) } },
          },
        }),
    responses: {
      ...responses,
      default: {
        description: 'A problem; `code` is stable',
        content: { 'application/problem+json': { schema: { $ref: `${COMPONENTS}Problem` } } },
      },
    },
  };
}

const PROBLEM_SCHEMA = {
  type: 'object',
  required: ['type', 'title', 'status', 'code'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', enum: PROBLEM_CODES },
    detail: { type: 'string', description: 'For a person: what is wrong and how to mend it.' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['field', 'message'],
        properties: { field: { type: 'string' }, message: { type: 'string' } },
      },
    },
  },
};

export function generateOpenApi(routes: readonly ApiRoute[]): JsonObject {
  const named = new Map<string, unknown>([['Problem', PROBLEM_SCHEMA]]);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const item = paths[route.spec.path] ?? {};
    item[route.spec.method.toLowerCase()] = toOperation(route, named);
    paths[route.spec.path] = item;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Engram',
      version: API_VERSION,
      description: 'Coding agents as durable sessions. Fields are only added; event kinds are in event-schemas.json.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }, { browser: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        browser: { type: 'apiKey', in: 'cookie', name: 'engram_session', description: 'The name may end in the port.' },
      },
      schemas: sorted(named),
    },
  };
}

/** One JSON Schema: any event as REST and SSE show it, each kind under `$defs`. */
export function generateEventSchemas(): JsonObject {
  const named = new Map<string, unknown>();
  const kinds: string[] = [];
  for (const [kind, schema] of eventSchemas) {
    const json = toJson(schema, 'input', named, '#/$defs/');
    named.set(kind, json);
    kinds.push(kind);
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Engram events',
    description: 'A newer release may send kinds that are not listed here, and more fields.',
    anyOf: kinds.map((kind) => ({ $ref: `#/$defs/${kind}` })),
    $defs: sorted(named),
  };
}
