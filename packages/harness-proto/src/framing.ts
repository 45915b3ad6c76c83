// Frames on a byte stream: 4 bytes big-endian length, then the body. After the handshake each body
// is a HarnessFrame: u32 0 Event | 1 Command, then the event's or command's own bytes.

import { assertNever } from './assert-never.js';
import { FRAME_BYTES_MAX } from './caps.js';
import { decodeCommand, writeCommand } from './command-codec.js';
import type { HarnessCommand } from './commands.js';
import type { Decoded } from './decoded.js';
import { decodeEvent, writeEvent } from './event-codec.js';
import type { HarnessEvent } from './events.js';
import { ProtoError } from './proto-error.js';
import { Reader } from './reader.js';
import { Writer } from './writer.js';

/** `unknown` is an arm of a newer peer: counted and skipped, the link goes on. */
export type HarnessFrame =
  | { readonly type: 'event'; readonly event: HarnessEvent }
  | { readonly type: 'command'; readonly command: HarnessCommand }
  | { readonly type: 'unknown'; readonly index: number; readonly bytes: Uint8Array };

function writtenFrame(frame: HarnessFrame): Writer {
  const writer = new Writer();
  switch (frame.type) {
    case 'event':
      writer.u32(0);
      writeEvent(writer, frame.event);
      return writer;
    case 'command':
      writer.u32(1);
      writeCommand(writer, frame.command);
      return writer;
    case 'unknown':
      writer.u32(frame.index);
      writer.raw(frame.bytes);
      return writer;
    default:
      return assertNever(frame);
  }
}

/** The body of a frame, without its length. */
export const encodeHarnessFrame = (frame: HarnessFrame): Uint8Array => writtenFrame(frame).body();

export function decodeHarnessFrame(body: Uint8Array): Decoded<HarnessFrame> {
  const index = new Reader(body).u32();
  const rest = body.subarray(4);
  switch (index) {
    case 0: {
      const { value, ignoredBytes } = decodeEvent(rest);
      return { value: { type: 'event', event: value }, ignoredBytes };
    }
    case 1: {
      const { value, ignoredBytes } = decodeCommand(rest);
      return { value: { type: 'command', command: value }, ignoredBytes };
    }
    default:
      return { value: { type: 'unknown', index, bytes: new Uint8Array(rest) }, ignoredBytes: 0 };
  }
}

/** Ready for the socket: length and body. Throws `frame_too_large` above the cap. */
export const frameEvent = (event: HarnessEvent): Uint8Array => writtenFrame({ type: 'event', event }).frame();
export const frameCommand = (command: HarnessCommand): Uint8Array => writtenFrame({ type: 'command', command }).frame();

/** Puts the length before a body that was encoded elsewhere, an attach for instance. */
export function encodeFrame(body: Uint8Array): Uint8Array {
  const writer = new Writer();
  writer.raw(body);
  return writer.frame();
}

/**
 * Cuts a stream of arbitrary chunks into frame bodies. A length above the cap throws before any
 * memory is taken for it, and so does every later call: the stream has no meaning any more.
 * A body that lies whole in one chunk is a view of that chunk, not a copy.
 */
export class FrameReader {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  /** Bytes in `#parts`. */
  #held = 0;
  /** Bytes needed before the next step: a header, or a body. */
  #wanted = 4;
  #inBody = false;
  #broken: ProtoError | undefined;

  constructor(maxBytes: number = FRAME_BYTES_MAX) {
    this.#maxBytes = maxBytes;
  }

  /** All bodies that are complete with this chunk, in order. */
  push(chunk: Uint8Array): Uint8Array[] {
    if (this.#broken !== undefined) throw this.#broken;
    const bodies: Uint8Array[] = [];
    let at = 0;
    while (this.#held + chunk.length - at >= this.#wanted) {
      const step = this.#joined(chunk.subarray(at, at + this.#wanted - this.#held));
      at += this.#wanted - this.#held;
      this.#parts = [];
      this.#held = 0;
      if (this.#inBody) bodies.push(step);
      this.#wanted = this.#inBody ? 4 : this.#bodyLength(step);
      this.#inBody = !this.#inBody;
    }
    if (at < chunk.length) {
      this.#parts.push(chunk.subarray(at));
      this.#held += chunk.length - at;
    }
    return bodies;
  }

  /** The stream has ended: throws `truncated` when it did so inside a frame. */
  end(): void {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#inBody || this.#held > 0) throw new ProtoError('truncated', 'the stream ends inside a frame');
  }

  #joined(last: Uint8Array): Uint8Array {
    return this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last]);
  }

  #bodyLength(header: Uint8Array): number {
    const length = new DataView(header.buffer, header.byteOffset, 4).getUint32(0);
    if (length <= this.#maxBytes) return length;
    this.#broken = new ProtoError('frame_too_large', `a frame of ${length} bytes; at most ${this.#maxBytes} are read`);
    throw this.#broken;
  }
}
