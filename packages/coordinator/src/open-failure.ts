// Why a database cannot be opened, and what to do about it. Pure. A connection string's password never
// gets into the message.

import { CoordinatorError, errorCode } from './coordinator-error.js';
import type { ConnectionSource } from './database.js';
import { isTransient } from './database-errors.js';

/** `db.example:5432/engram`: where a connection leads, without who and the secret. */
export function describeTarget(source: ConnectionSource): string {
  if (typeof source !== 'string') return `${source.host}:${source.port}/${source.database}`;
  try {
    const url = new URL(source);
    const host = url.searchParams.get('host') ?? url.hostname;
    return `${host === '' ? 'localhost' : host}:${url.port === '' ? '5432' : url.port}${url.pathname}`;
  } catch {
    return 'DATABASE_URL (it is not a valid URL)';
  }
}

/** True when it may pass by itself: the server is starting, restarting or not reachable yet. */
export function mayPass(error: unknown): boolean {
  const cause = error instanceof CoordinatorError && error.cause !== undefined ? error.cause : error;
  return !NEXT_STEPS.has(errorCode(cause) ?? '') && isTransient(cause);
}

const NEXT_STEPS: ReadonlyMap<string, string> = new Map([
  ['28P01', 'the password is not right. Correct the user or the password in DATABASE_URL.'],
  ['28000', 'it does not let this user in. Check the user in DATABASE_URL, and the server’s pg_hba.conf.'],
  ['3D000', 'there is no database of that name. Create it (create database … owner …), or correct DATABASE_URL.'],
  [
    '42501',
    'the user may not create tables in it. Make the user its owner, or grant create on its schema “public” to the user.',
  ],
  ['3F000', 'there is no schema to create tables in. Create the schema “public”, or set the user’s search_path.'],
]);

const PASSING: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'nothing listens there. Start PostgreSQL, or correct host and port in DATABASE_URL.'],
  ['ENOENT', 'there is no such socket. Start PostgreSQL, or correct the host in DATABASE_URL.'],
  ['ENOTFOUND', 'the host name is not known. Correct the host in DATABASE_URL.'],
  ['EAI_AGAIN', 'the host name cannot be looked up. Check the host in DATABASE_URL and the name server.'],
  ['EHOSTUNREACH', 'the host cannot be reached. Check the network, and host and port in DATABASE_URL.'],
  ['ETIMEDOUT', 'it does not answer. Check the network and firewalls, and host and port in DATABASE_URL.'],
  ['53300', 'it has no connection left. Raise max_connections, or stop something that uses it.'],
  ['57P03', 'it is starting up or shutting down. Try again in a moment.'],
]);

export function explainOpenFailure(source: ConnectionSource, error: unknown): CoordinatorError {
  if (error instanceof CoordinatorError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CoordinatorError(
    'unavailable',
    `The database ${describeTarget(source)} cannot be opened: ${why(error, message)}`,
    {
      cause: error,
    },
  );
}

function why(error: unknown, message: string): string {
  const code = errorCode(error) ?? '';
  const known = NEXT_STEPS.get(code) ?? PASSING.get(code);
  if (known !== undefined) return known;
  if (/timeout/i.test(message))
    return 'it does not answer in time. Check the network, and host and port in DATABASE_URL.';
  if (/does not support SSL/i.test(message))
    return 'it speaks no TLS. Add ?sslmode=disable to DATABASE_URL if the network is your own.';
  if (/certificate|self-signed|SELF_SIGNED/i.test(`${message} ${code}`))
    return 'its certificate is not trusted. Give its authority with ?sslrootcert=<file> in DATABASE_URL, or NODE_EXTRA_CA_CERTS.';
  if (/SASL|password must be a string/i.test(message))
    return 'it asks for a password. Put user and password into DATABASE_URL.';
  return `${message}.`;
}
