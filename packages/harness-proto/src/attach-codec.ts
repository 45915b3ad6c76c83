// The handshake: the first frame of a link (harness → host) and its reply. Plain structs, not
// variants. A field missing at the end reads as empty, so that a peer too old to attach is refused
// with a reason instead of breaking the link.

import type { Decoded } from './decoded.js';
import { ProtoError } from './proto-error.js';
import { Reader, readString } from './reader.js';
import { Writer, writeString } from './writer.js';

export interface HarnessAttach {
  /** UUID in its usual text form. */
  readonly session_id: string;
  readonly harness_version: string;
  /** The secret of the assignment, as the host gave it. */
  readonly attach_token: string;
  readonly epoch: number;
  /** Stored-kind events this session's harness has sent so far, counted from 1. */
  readonly last_event_seq: number;
}

/** Why an attach is refused. Only `stale_epoch` ends the harness; all else is tried again later. */
export const ATTACH_REFUSALS = ['unknown_session', 'bad_token', 'stale_epoch'] as const;
export type AttachRefusal = (typeof ATTACH_REFUSALS)[number];

export interface HarnessAttachAck {
  readonly ok: boolean;
  /** An AttachRefusal when not ok; a newer host may say something else. */
  readonly message?: string;
  /** The harness sends everything behind this sequence again. */
  readonly last_stored_seq: number;
}

export const isAttachRefusal = (message: string | undefined): message is AttachRefusal =>
  ATTACH_REFUSALS.some((refusal) => refusal === message);

function uuidBytes(uuid: string): Uint8Array {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uuid)) {
    throw new ProtoError('bad_uuid', 'a session id that is not a UUID');
  }
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

function uuidText(bytes: Uint8Array): string {
  if (bytes.length !== 16) throw new ProtoError('bad_uuid', `a UUID of ${bytes.length} bytes`);
  const hex = Buffer.from(bytes).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export function encodeAttach(attach: HarnessAttach): Uint8Array {
  const writer = new Writer();
  writer.bytes(uuidBytes(attach.session_id));
  writer.string(attach.harness_version);
  writer.string(attach.attach_token);
  writer.u64(attach.epoch);
  writer.u64(attach.last_event_seq);
  return writer.body();
}

export function decodeAttach(body: Uint8Array): Decoded<HarnessAttach> {
  const reader = new Reader(body);
  const value = {
    session_id: uuidText(reader.bytes()),
    harness_version: reader.string(),
    attach_token: reader.remaining === 0 ? '' : reader.string(),
    epoch: reader.remaining === 0 ? 0 : reader.u64(),
    last_event_seq: reader.remaining === 0 ? 0 : reader.u64(),
  };
  return { value, ignoredBytes: reader.remaining };
}

export function encodeAttachAck(ack: HarnessAttachAck): Uint8Array {
  const writer = new Writer();
  writer.bool(ack.ok);
  writer.option(ack.message, writeString);
  writer.u64(ack.last_stored_seq);
  return writer.body();
}

export function decodeAttachAck(body: Uint8Array): Decoded<HarnessAttachAck> {
  const reader = new Reader(body);
  const ok = reader.bool();
  const message = reader.option(readString);
  const last_stored_seq = reader.remaining === 0 ? 0 : reader.u64();
  const value = { ok, ...(message === undefined ? {} : { message }), last_stored_seq };
  return { value, ignoredBytes: reader.remaining };
}
