// Any thrown value → the Problem the caller sees. Framework errors by their code, a broken
// database as `unavailable`, everything else as `internal` with the cause kept for the log.

import { CoordinatorError, type CoordinatorErrorCode } from '@engram/coordinator';
import { Problem } from './problem.js';

/** What passes by itself or by mending the database; the rest would be a fault of ours. */
const DATABASE_AWAY: ReadonlySet<CoordinatorErrorCode> = new Set([
  'unavailable',
  'closed',
  'disk_full',
  'schema_newer',
]);

const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
]);

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null && field in value ? Reflect.get(value, field) : undefined;
}

/** A desk that cannot be reached: its own error class, or what the driver or PostgreSQL says of a lost link. */
export function isUnavailable(error: unknown): boolean {
  for (let e = error, depth = 0; e !== undefined && depth < 5; e = fieldOf(e, 'cause'), depth += 1) {
    if (e instanceof CoordinatorError) return DATABASE_AWAY.has(e.code);
    const code = fieldOf(e, 'code');
    if (typeof code !== 'string') continue;
    // PostgreSQL: 08 connection, 53 out of resources, 57 shutdown or cancelled, 58 system error.
    if (UNAVAILABLE_CODES.has(code) || /^(08|53|57|58)[0-9A-Z]{3}$/.test(code)) return true;
  }
  return false;
}

export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const code = fieldOf(error, 'code');
  const status = fieldOf(error, 'statusCode');
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('too_large', { detail: 'A body may have at most 256 KiB.' });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupported_media_type', { detail: 'Send the body as application/json.' });
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_request', { detail: 'The body is not as long as Content-Length says.' });
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('not_found', { detail: 'The path is not valid: check its percent-encoding and length.' });
    default:
  }
  if (isUnavailable(error))
    return new Problem('unavailable', {
      detail: 'The database cannot be reached. Nothing was changed; try again.',
      cause: error,
    });
  if (status === 413) return new Problem('too_large', {});
  if (status === 415) return new Problem('unsupported_media_type', {});
  if (typeof status === 'number' && status >= 400 && status < 500 && status !== 401) {
    return new Problem(status === 403 || status === 404 ? 'not_found' : 'invalid_request', { cause: error });
  }
  return new Problem('internal', { cause: error });
}
