// A place for objects, as a port: what a store of session files needs of a folder or a bucket. Keys
// are ours ([A-Za-z0-9._/-]); an object is written whole or not at all and never changed.
//
// test/blob-store-contract.ts is the port's contract; every implementation runs it.

export interface BlobStore {
  /** For logs and people, without secrets: `folder /mnt/engram`, `bucket engram-files/team`. */
  readonly name: string;
  /** Durable when it resolves. The same key again replaces the object. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** False when there is such an object already, whoever wrote it. */
  putNew(key: string, bytes: Uint8Array): Promise<boolean>;
  /** Undefined when there is no such object. */
  get(key: string): Promise<Uint8Array | undefined>;
  /** Keys below a prefix that ends in `/`, in no order. */
  list(prefix: string): Promise<readonly string[]>;
  /** What is not there any more is no error. */
  remove(keys: readonly string[]): Promise<void>;
}

const KEY = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/;

/** Throws for anything that could leave the store's own folder. */
export function checkKey(key: string): string {
  if (!KEY.test(key) || key.includes('..')) throw new RangeError('not a key of a store');
  return key;
}
