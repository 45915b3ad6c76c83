// Tells a database that is away for now from one that refuses. Pure.

import { CoordinatorError, errorCode } from './coordinator-error.js';

/** SQLSTATE classes and system codes that pass by themselves: connection, resources, shutdown, conflict. */
const PASSING_CLASSES = ['08', '40', '53', '57', '58'];
const PASSING_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  '25P02',
  '25P03',
  '55P03',
]);

export function isTransient(error: unknown): boolean {
  const code = errorCode(error);
  if (code === undefined)
    return error instanceof Error && /terminated|timeout|not queryable|closed the connection/i.test(error.message);
  return PASSING_CODES.has(code) || (/^[0-9A-Z]{5}$/.test(code) && PASSING_CLASSES.includes(code.slice(0, 2)));
}

/** The cause is kept; the message names a code, never a value. */
export function toCoordinatorError(error: unknown): CoordinatorError {
  if (error instanceof CoordinatorError) return error;
  const code = errorCode(error);
  if (code === '53100') return new CoordinatorError('disk_full', 'the disk of the database is full', { cause: error });
  const text = 'the database did not do what was asked';
  return new CoordinatorError('unavailable', `${text}${code === undefined ? '' : ` (${code})`}`, { cause: error });
}
