// The way to PostgreSQL: one pool, and the one place that says how PostgreSQL's types become
// JavaScript's. bigint is a number and must be exact; a time is ISO 8601 in UTC.
// Work inside a transaction uses the transaction's handle, never this pool again.

import {
  Kysely,
  type PostgresCursor,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresQueryResult,
} from 'kysely';
import pg from 'pg';
import type { Logger } from 'pino';
import { CoordinatorError } from './coordinator-error.js';
import type { PostgresConnection } from './embedded/cluster.js';

/** A connection string, or the parts of one. */
export type ConnectionSource = string | PostgresConnection;

/** Statements are written out as SQL, so no table is described to the query builder. */
export type Db = Kysely<Record<string, never>>;

/**
 * One statement, planned once a connection: for the few that run many times a second. Never inside a
 * transaction. Without a name it is planned each time. Arrays may be given as PostgreSQL's array literal.
 */
export type Prepared = <Row>(name: string, text: string, values: readonly unknown[]) => Promise<readonly Row[]>;

export interface Database {
  readonly db: Db;
  readonly prepared: Prepared;
  close(): Promise<void>;
}

const OID_INT8 = 20;
const OID_TIMESTAMPTZ = 1184;

export function openDatabase(source: ConnectionSource, poolSize: number, log: Logger): Database {
  const pool = new pg.Pool({
    ...toClientConfig(source),
    max: poolSize,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: 10_000,
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: 60_000,
  });
  // An idle connection that the server closed is replaced at the next use.
  pool.on('error', (error) => log.warn({ err: error.message }, 'an idle database connection was lost'));
  // One that is lost in the middle of a transaction fails that transaction's next statement; the
  // event itself would end the process if nobody listened.
  pool.on('connect', (client) => {
    client.on('error', (error) => log.warn({ err: error.message }, 'a database connection was lost'));
  });
  return {
    db: new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool: planOnce(pool) }) }),
    async prepared<Row>(name: string, text: string, values: readonly unknown[]) {
      const plan = name === '' ? {} : { name };
      const { rows } = await pool.query<Row & pg.QueryResultRow>({ ...plan, text, values: [...values] });
      return rows;
    },
    close: () => pool.end(),
  };
}

/** Statements that are kept planned in one connection at most; what comes after them is planned each time. */
const MAX_PLANS = 250;

/**
 * The pool for the query builder: each text with values is planned once a connection. Our statements are few and
 * written out, so their text is what names them; planning some of them takes longer than running them.
 */
function planOnce(pool: pg.Pool): PostgresPool {
  const names = new Map<string, string>();
  const known = new WeakMap<pg.PoolClient, PostgresPoolClient>();

  function nameOf(text: string): string | undefined {
    const name = names.get(text);
    if (name !== undefined || names.size >= MAX_PLANS) return name;
    names.set(text, `s${names.size}`);
    return names.get(text);
  }

  function toClient(client: pg.PoolClient): PostgresPoolClient {
    function query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>;
    function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
    function query(text: string | PostgresCursor<unknown>, values: readonly unknown[] = []): unknown {
      if (typeof text !== 'string') throw new CoordinatorError('unavailable', 'cursors are not used here');
      // `begin`, `commit` and the migrations come without values.
      const name = values.length === 0 ? undefined : nameOf(text);
      return client.query({ text, values: [...values], ...(name === undefined ? {} : { name }) });
    }
    return { query, release: (destroy) => client.release(destroy) };
  }

  return {
    async connect() {
      const client = await pool.connect();
      const wrapped = known.get(client) ?? toClient(client);
      known.set(client, wrapped);
      return wrapped;
    },
    end: () => pool.end(),
  };
}

export function toClientConfig(source: ConnectionSource): pg.ClientConfig {
  const where = typeof source === 'string' ? { connectionString: source } : source;
  return {
    ...where,
    application_name: 'engram',
    options: '-c TimeZone=UTC',
    keepAlive: true,
    types: { getTypeParser },
  };
}

function getTypeParser(...args: Parameters<typeof pg.types.getTypeParser>): ReturnType<typeof pg.types.getTypeParser> {
  const [oid, format] = args;
  if (format === 'binary') return pg.types.getTypeParser(oid, format);
  if (oid === OID_INT8) return parseInt8;
  if (oid === OID_TIMESTAMPTZ) return parseTimestamp;
  return pg.types.getTypeParser(oid, format);
}

function parseInt8(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new CoordinatorError('unavailable', `a number of the database is beyond 2^53: ${text}`);
}

/** Sessions run with TimeZone=UTC, so the text always ends in +00; its zeros behind the point are left out. */
function parseTimestamp(text: string): string {
  // The common form, by its length; a log has one for each event.
  if (text.length === 26) return `${text.slice(0, 10)}T${text.slice(11, 23)}Z`;
  return new Date(`${text.slice(0, 10)}T${text.slice(11)}:00`).toISOString();
}
