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

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null && field in value ? Reflect.get(value, field) : undefined;
}

/** The desk says so itself: whatever its driver throws is a CoordinatorError when it gets here. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof CoordinatorError && DATABASE_AWAY.has(error.code);
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
  if (isUnavailable(error)) {
    return new Problem('unavailable', {
      detail:
        error instanceof CoordinatorError && error.code === 'disk_full'
          ? 'The disk of the database is full. Nothing was stored; try again when there is room.'
          : 'The database cannot be reached. Try again in a moment.',
      cause: error,
    });
  }
  if (status === 413) return new Problem('too_large', {});
  if (status === 415) return new Problem('unsupported_media_type', {});
  if (typeof status === 'number' && status >= 400 && status < 500 && status !== 401) {
    return new Problem(status === 403 || status === 404 ? 'not_found' : 'invalid_request', { cause: error });
  }
  return new Problem('internal', { cause: error });
}
