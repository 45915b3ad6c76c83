// The one error class of this package. Expected outcomes are values; this is thrown when a promise
// is broken: the database is away, the cluster cannot start, the schema is not ours.

export type CoordinatorErrorCode =
  // the database
  | 'unavailable'
  | 'schema_newer'
  | 'migration_failed'
  | 'sequence_gap'
  | 'closed'
  // a backup and its restore
  | 'backup_damaged'
  | 'backup_newer'
  | 'database_not_empty'
  | 'database_in_use'
  | 'database_unsuitable'
  // the embedded PostgreSQL
  | 'postgres_missing'
  | 'postgres_needs_account'
  | 'socket_path_too_long'
  | 'disk_full'
  | 'no_permission'
  | 'cluster_version'
  | 'cluster_damaged'
  | 'cluster_in_use'
  | 'password_lost'
  | 'start_failed';

/** `message` says what happened and, for the embedded PostgreSQL, what to do next. */
export class CoordinatorError extends Error {
  readonly code: CoordinatorErrorCode;

  constructor(code: CoordinatorErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CoordinatorError';
    this.code = code;
  }
}

/** The system's or PostgreSQL's short code of an error (`ENOENT`, `23505`), when it has one. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
