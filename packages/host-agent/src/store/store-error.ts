// What can go wrong with a store of session files. Each message says what to do next; none names a
// secret or shows contents.

export type StoreErrorCode =
  /** Not there, or not answering, after the retries: try again later. */
  | 'store_unreachable'
  /** It answers and says no: credentials, permissions, a bucket or folder that does not exist. */
  | 'store_refused'
  | 'store_full'
  /** What it gave back is not what was put in. */
  | 'store_damaged'
  /** An object that should be there is not. */
  | 'store_incomplete'
  /** Encrypted with another key, or this host has none. */
  | 'store_key';

export class StoreError extends Error {
  override readonly name = 'StoreError';

  constructor(
    readonly code: StoreErrorCode,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}
