// One connection for a backup or a restore: no time limits, and every value printed the same way whatever
// the server's or the role's settings say.

import pg from 'pg';
import type { Logger } from 'pino';
import { type ConnectionSource, toClientConfig } from '../database.js';
import { toCoordinatorError } from '../database-errors.js';
import { explainOpenFailure } from '../open-failure.js';

const SETTINGS = `set client_encoding = 'UTF8'; set datestyle = 'ISO, YMD'; set intervalstyle = 'iso_8601';
  set bytea_output = 'hex'; set extra_float_digits = 3; set statement_timeout = 0; set lock_timeout = 0;
  set idle_in_transaction_session_timeout = 0`;

/** Throws CoordinatorError for what the database refuses. */
export async function withBackupClient<T>(
  connection: ConnectionSource,
  log: Logger,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ ...toClientConfig(connection), connectionTimeoutMillis: 10_000 });
  client.on('error', (error) => log.warn({ err: error.message }, 'the connection of a backup was lost'));
  try {
    await client.connect();
  } catch (error) {
    throw explainOpenFailure(connection, error);
  }
  try {
    await client.query(SETTINGS);
    return await work(client);
  } catch (error) {
    // Errors of the work's own, of a file say, keep what they are.
    if (error instanceof pg.DatabaseError || isConnectionLoss(error)) throw toCoordinatorError(error);
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function isConnectionLoss(error: unknown): boolean {
  return error instanceof Error && /connection terminated|not queryable|ECONNRESET|EPIPE/i.test(error.message);
}

/** A name as SQL has it. */
export const quoted = (name: string): string => pg.escapeIdentifier(name);
