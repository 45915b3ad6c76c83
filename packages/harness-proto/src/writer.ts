// Writes bincode 1.x values into one growing buffer; the counterpart of reader.ts. Starts with room
// for a frame's length, so that a whole frame is finished without copying its body.
// Lone surrogates, which UTF-8 cannot say, are written as U+FFFD.

import { FRAME_BYTES_MAX } from './caps.js';
import { ProtoError } from './proto-error.js';

export type Write<T> = (writer: Writer, value: T) => void;
/** A trailing field that is set; undefined when it is not. */
export type TrailingField = ((writer: Writer) => void) | undefined;

const PREFIX_BYTES = 4;

export class Writer {
  #bytes = Buffer.allocUnsafe(256);
  #at = PREFIX_BYTES;

  #room(size: number): void {
    const needed = this.#at + size;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }

  bool(value: boolean): void {
    this.#room(1);
    this.#bytes[this.#at++] = value ? 1 : 0;
  }

  u32(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
      throw new ProtoError('bad_number', `${value} is not a u32`);
    }
    this.#room(4);
    this.#at = this.#bytes.writeUInt32LE(value, this.#at);
  }

  u64(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new ProtoError('bad_number', `${value} is not a whole number from 0 to 2^53-1`);
    }
    this.#room(8);
    this.#bytes.writeUInt32LE(value % 0x1_0000_0000, this.#at);
    this.#at = this.#bytes.writeUInt32LE(Math.floor(value / 0x1_0000_0000), this.#at + 4);
  }

  string(value: string): void {
    // three bytes a unit at worst; long texts are measured instead
    this.#room(8 + (value.length < 512 ? value.length * 3 : Buffer.byteLength(value, 'utf8')));
    const start = this.#at + 8;
    const length = this.#bytes.write(value, start, 'utf8');
    this.u64(length);
    this.#at = start + length;
  }

  /** Length-prefixed bytes. */
  bytes(value: Uint8Array): void {
    this.u64(value.length);
    this.raw(value);
  }

  raw(value: Uint8Array): void {
    this.#room(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  option<T>(value: T | undefined, write: Write<T>): void {
    this.bool(value !== undefined);
    if (value !== undefined) write(this, value);
  }

  /** Up to the last field that is set; nothing at all when none is, so that old bytes never change. */
  trailing(...fields: readonly TrailingField[]): void {
    const count = fields.findLastIndex((field) => field !== undefined) + 1;
    for (const field of fields.slice(0, count)) {
      this.bool(field !== undefined);
      field?.(this);
    }
  }

  list<T>(items: readonly T[], write: Write<T>): void {
    this.u64(items.length);
    for (const item of items) write(this, item);
  }

  /** Sorted by the keys' UTF-8 bytes. */
  map<T>(map: Readonly<Record<string, T>>, write: Write<T>): void {
    const entries = Object.entries(map)
      .map(([key, value]) => ({ key: Buffer.from(key, 'utf8'), value }))
      .sort((left, right) => Buffer.compare(left.key, right.key));
    this.u64(entries.length);
    let previous: Buffer | undefined;
    for (const { key, value } of entries) {
      // possible only for keys that differ in lone surrogates alone
      if (previous?.equals(key)) throw new ProtoError('duplicate_key', 'two keys of a map are the same in UTF-8');
      previous = key;
      this.bytes(key);
      write(this, value);
    }
  }

  oneOf<T>(names: readonly T[], name: T): void {
    this.u32(names.indexOf(name));
  }

  body(): Uint8Array {
    return this.#bytes.subarray(PREFIX_BYTES, this.#at);
  }

  /** The body behind its big-endian length. */
  frame(): Uint8Array {
    const length = this.#at - PREFIX_BYTES;
    if (length > FRAME_BYTES_MAX) {
      throw new ProtoError('frame_too_large', `a frame of ${length} bytes; at most ${FRAME_BYTES_MAX} may be sent`);
    }
    this.#bytes.writeUInt32BE(length, 0);
    return this.#bytes.subarray(0, this.#at);
  }
}

export const writeString: Write<string> = (writer, value) => writer.string(value);
export const writeStrings: Write<readonly string[]> = (writer, values) => writer.list(values, writeString);
export const writeU64: Write<number> = (writer, value) => writer.u64(value);

/** One trailing field: what to write when `value` is set. */
export function trailingField<T>(value: T | undefined, write: Write<T>): TrailingField {
  return value === undefined ? undefined : (writer) => write(writer, value);
}
