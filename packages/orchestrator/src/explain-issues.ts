// What a schema says about bad input → sentences that name the field and say how to mend it.

import type { z } from 'zod';
import { type FieldError, Problem } from './problem.js';

type Issue = z.core.$ZodIssue;

const MAX_ERRORS = 10;
const MAX_FIELD = 120;

const KINDS: ReadonlyMap<string, string> = new Map([
  ['string', 'a string'],
  ['number', 'a number'],
  ['int', 'a whole number'],
  ['boolean', 'true or false'],
  ['object', 'a JSON object'],
  ['record', 'a JSON object'],
  ['array', 'a list'],
]);

function fieldName(issue: Issue): string {
  const path = issue.path.map(String).join('.');
  if (path === '') return '(body)';
  return path.length > MAX_FIELD ? `${path.slice(0, MAX_FIELD)}…` : path;
}

function explain(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const kind = KINDS.get(issue.expected) ?? issue.expected;
      return issue.message.endsWith('received undefined') ? `is missing; give ${kind}` : `must be ${kind}`;
    }
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map((v) => JSON.stringify(v)).join(', ')}`;
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options)
        ? `must be one of ${issue.options.map((v) => JSON.stringify(v)).join(', ')}`
        : 'has none of the shapes allowed here';
    case 'too_big':
      return `is too long or too large: at most ${issue.maximum}`;
    case 'too_small':
      return `is too short or too small: at least ${issue.minimum}`;
    default:
      return issue.message;
  }
}

/** Cursors have a code of their own, wherever they stand in a query. */
const CURSOR_FIELDS = new Set(['cursor', 'since']);

export function toInvalid(error: z.ZodError): Problem {
  const errors: FieldError[] = error.issues
    .slice(0, MAX_ERRORS)
    .map((issue) => ({ field: fieldName(issue), message: explain(issue) }));
  const code = errors.every((e) => CURSOR_FIELDS.has(e.field)) ? 'invalid_cursor' : 'invalid_body';
  return new Problem(code, { detail: errors.map((e) => `${e.field} ${e.message}`).join('; '), errors });
}
