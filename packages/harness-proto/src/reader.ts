// Reads bincode 1.x values from one body: little-endian fixed-width integers, u64 lengths, Option
// and bool as one byte 0 or 1. Strict: every bound is checked before a byte is touched or memory
// is taken. An index nobody here knows leaves as UnknownIndex, caught where the body began.

import { isUtf8 } from 'node:buffer';
import { ProtoError } from './proto-error.js';

/** Control flow, not a failure: the enclosing event or command becomes `unknown`. */
export class UnknownIndex extends Error {
  override readonly name = 'UnknownIndex';
}

export type Read<T> = (reader: Reader) => T;

export class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(body: Uint8Array) {
    this.#bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  /** Moves past `size` bytes and gives where they start. */
  #take(size: number): number {
    const start = this.#at;
    if (size > this.#bytes.length - start) {
      throw new ProtoError('truncated', `${size} bytes wanted at ${start}, ${this.#bytes.length - start} left`);
    }
    this.#at = start + size;
    return start;
  }

  #flag(code: 'bad_bool' | 'bad_option'): boolean {
    const at = this.#take(1);
    const byte = this.#bytes[at];
    if (byte === 0) return false;
    if (byte === 1) return true;
    throw new ProtoError(code, `byte ${byte} at ${at}, 0 or 1 wanted`);
  }

  bool(): boolean {
    return this.#flag('bad_bool');
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  u64(): number {
    const at = this.#take(8);
    const high = this.#bytes.readUInt32LE(at + 4);
    if (high > 0x1f_ffff) throw new ProtoError('bad_number', `the u64 at ${at} is above 2^53-1`);
    return high * 0x1_0000_0000 + this.#bytes.readUInt32LE(at);
  }

  /** The length of what follows, each item of which takes at least `itemBytes`. */
  #length(itemBytes: number): number {
    const at = this.#take(8);
    const length = this.#bytes.readUInt32LE(at);
    if (this.#bytes.readUInt32LE(at + 4) !== 0 || length * itemBytes > this.remaining) {
      throw new ProtoError('length_beyond_body', `the length at ${at} goes beyond the body`);
    }
    return length;
  }

  string(): string {
    const length = this.#length(1);
    const start = this.#take(length);
    const text = this.#bytes.toString('utf8', start, start + length);
    // a replacement character is either in the bytes or stands for bytes that are not UTF-8
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, start + length))) {
      throw new ProtoError('bad_utf8', `the string at ${start} is not UTF-8`);
    }
    return text;
  }

  /** Length-prefixed bytes, copied. */
  bytes(): Uint8Array {
    const length = this.#length(1);
    const start = this.#take(length);
    return Uint8Array.prototype.slice.call(this.#bytes, start, start + length);
  }

  /** All that is left, copied, so that a small rest does not keep a large chunk alive. */
  rest(): Uint8Array {
    const start = this.#take(this.remaining);
    return new Uint8Array(this.#bytes.subarray(start));
  }

  option<T>(read: Read<T>): T | undefined {
    return this.#flag('bad_option') ? read(this) : undefined;
  }

  /** A field added to a released variant: absent when the body ends here. */
  trailing<T>(read: Read<T>): T | undefined {
    return this.remaining === 0 ? undefined : this.option(read);
  }

  list<T>(itemBytes: number, read: Read<T>): T[] {
    const length = this.#length(itemBytes);
    const items: T[] = [];
    for (let index = 0; index < length; index++) items.push(read(this));
    return items;
  }

  /** A null-prototype object, so that no key is special. */
  map<T>(valueBytes: number, read: Read<T>): Record<string, T> {
    const length = this.#length(8 + valueBytes);
    const map: Record<string, T> = Object.create(null);
    for (let index = 0; index < length; index++) {
      const key = this.string();
      if (Object.hasOwn(map, key)) throw new ProtoError('duplicate_key', 'a map holds the same key twice');
      map[key] = read(this);
    }
    return map;
  }

  /** A u32 index into a closed list of names. */
  oneOf<T>(names: readonly T[]): T {
    const index = this.u32();
    const name = names[index];
    if (name === undefined) throw new UnknownIndex(`index ${index} of ${names.length}`);
    return name;
  }
}

export const readString: Read<string> = (reader) => reader.string();
export const readStrings: Read<string[]> = (reader) => reader.list(8, readString);
export const readU64: Read<number> = (reader) => reader.u64();
