// What a decoder gives back, and how a variant it does not know becomes a value.

import { Reader, UnknownIndex } from './reader.js';

export interface Decoded<T> {
  readonly value: T;
  /** Bytes behind the last field known here: fields of a newer peer. For a counter, never a failure. */
  readonly ignoredBytes: number;
}

export interface Unknown {
  readonly type: 'unknown';
  readonly index: number;
  readonly bytes: Uint8Array;
}

/** Reads with `read`; a body that holds an index unknown at any depth comes back whole. */
export function decodeOrKeep<T>(body: Uint8Array, read: (reader: Reader) => T): Decoded<T | Unknown> {
  try {
    const reader = new Reader(body);
    const value = read(reader);
    return { value, ignoredBytes: reader.remaining };
  } catch (error) {
    if (!(error instanceof UnknownIndex)) throw error;
    const reader = new Reader(body);
    return { value: { type: 'unknown', index: reader.u32(), bytes: reader.rest() }, ignoredBytes: 0 };
  }
}

/** Optional fields are left out of a decoded value when absent; this is how they are put in. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] };
