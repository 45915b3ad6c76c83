// The committed documents are what the code says, and take nothing away from the last release
// unless a decision record is named for it in docs/released/allowed-changes.json.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { apiDocument, eventDocument } from '../src/all-routes.js';
import { breakingChanges } from '../src/api-diff.js';

const docs = join(import.meta.dirname, '../../../docs');
const released = join(docs, 'released');
const documents = new Map([
  ['openapi.json', apiDocument()],
  ['event-schemas.json', eventDocument()],
]);

const AllowList = z.array(z.object({ change: z.string(), adr: z.string() }));

function allowedChanges(): readonly { change: string; adr: string }[] {
  const path = join(released, 'allowed-changes.json');
  return existsSync(path) ? AllowList.parse(JSON.parse(readFileSync(path, 'utf8'))) : [];
}

function newestRelease(): string | undefined {
  const versions = existsSync(released) ? readdirSync(released).filter((name) => /^\d+\.\d+\.\d+$/.test(name)) : [];
  return versions.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
}

describe('published documents', () => {
  it.each([...documents])('docs/%s is what the code generates (write-docs.mjs makes it)', (name, text) => {
    expect(readFileSync(join(docs, name), 'utf8')).toBe(text);
  });

  it.each([...documents])('%s takes nothing away from the last release without a decision record', (name, text) => {
    const version = newestRelease();
    if (version === undefined) return;
    const before: unknown = JSON.parse(readFileSync(join(released, version, name), 'utf8'));
    const allowed = allowedChanges();
    for (const { adr } of allowed) expect(existsSync(join(docs, '..', adr)), adr).toBe(true);
    const excused = new Set(allowed.map(({ change }) => change));
    expect(breakingChanges(before, JSON.parse(text)).filter((change) => !excused.has(change))).toEqual([]);
  });
});

type Mutable = { [key: string]: Mutable };
function changed(text: string, change: (document: Mutable) => void): unknown {
  const document: Mutable = JSON.parse(text);
  change(document);
  return document;
}

describe('comparison with a release', () => {
  const api = apiDocument();
  const now: unknown = JSON.parse(api);
  const at = (document: Mutable, ...path: string[]): Mutable =>
    path.reduce<Mutable>((node, key) => node[key] ?? {}, document);

  it('finds nothing between a document and itself', () => {
    expect(breakingChanges(now, now)).toEqual([]);
    expect(breakingChanges(JSON.parse(eventDocument()), JSON.parse(eventDocument()))).toEqual([]);
  });

  it.each<[string, (document: Mutable) => void, RegExp]>([
    ['a path', (d) => delete at(d, 'paths')['/api/v1/questions'], /path removed/],
    ['a method', (d) => delete at(d, 'paths', '/api/v1/sessions/{id}').patch, /PATCH .*method removed/],
    [
      'a field of a reply',
      (d) => delete at(d, 'components', 'schemas', 'Session', 'properties').running,
      /Session\.running: field removed/,
    ],
    [
      'a value of an enum',
      (d) => void Object.assign(at(d, 'components', 'schemas', 'SessionStatus'), { enum: ['created', 'active'] }),
      /SessionStatus: enum value "idle" removed/,
    ],
    [
      'a workspace kind',
      (d) => void Object.assign(at(d, 'components', 'schemas', 'Workspace'), { oneOf: [] }),
      /alternative kind="git" removed/,
    ],
    [
      'an optional field that becomes required in a request',
      (d) =>
        void Object.assign(
          at(
            d,
            'paths',
            '/api/v1/sessions/{id}/prompts',
            'post',
            'requestBody',
            'content',
            'application/json',
            'schema',
          ),
          { required: ['text', 'prompt_id'] },
        ),
      /prompt_id: now required/,
    ],
    [
      'a field that a reply no longer always holds',
      (d) => void Object.assign(at(d, 'components', 'schemas', 'Session'), { required: ['id'] }),
      /Session\.title: no longer always there/,
    ],
    [
      'a type',
      (d) => void Object.assign(at(d, 'components', 'schemas', 'Session', 'properties', 'title'), { type: 'integer' }),
      /Session\.title: type "string" became "integer"/,
    ],
    [
      'a query parameter',
      (d) => void Object.assign(at(d, 'paths', '/api/v1/sessions', 'get'), { parameters: [] }),
      /parameter query cursor removed/,
    ],
  ])('reports the loss of %s', (_name, change, expected) => {
    const found = breakingChanges(now, changed(api, change));
    expect(found.join('\n')).toMatch(expected);
  });

  it('reports a new required request field and lets additions pass', () => {
    const schemaPath = ['paths', '/api/v1/sessions', 'post', 'requestBody', 'content', 'application/json', 'schema'];
    const optional = changed(api, (d) => {
      at(d, ...schemaPath, 'properties').colour = {};
      at(d, 'paths')['/api/v2'] = {};
      at(d, 'components', 'schemas', 'Session', 'properties').colour = {};
    });
    expect(breakingChanges(now, optional)).toEqual([]);
    const required = changed(api, (d) => void Object.assign(at(d, ...schemaPath), { required: ['colour'] }));
    expect(breakingChanges(now, required).join()).toMatch(/colour: now required/);
  });

  it('reports a lost event kind and a lost event field', () => {
    const events = eventDocument();
    const before: unknown = JSON.parse(events);
    const kind = changed(events, (d) => {
      const arms: unknown = d.anyOf;
      if (Array.isArray(arms)) arms.splice(0, 1);
    });
    expect(breakingChanges(before, kind).join()).toMatch(/alternative .*session_created removed/);
    const field = changed(events, (d) => delete at(d, '$defs', 'file_changed', 'properties').path);
    expect(breakingChanges(before, field)).toContain('file_changed.path: field removed');
  });
});
