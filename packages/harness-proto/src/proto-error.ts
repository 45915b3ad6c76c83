// The one error of this package: bytes that break the wire's rules, or a value that cannot be
// written. An unknown index is not an error: it decodes to `unknown` and is passed on.

export type ProtoErrorCode =
  /** The body, or the stream, ends inside a field. */
  | 'truncated'
  /** A bool byte other than 0 and 1. */
  | 'bad_bool'
  /** An Option tag other than 0 and 1. */
  | 'bad_option'
  | 'bad_utf8'
  /** A string, list or map says it is longer than what is left of the body. */
  | 'length_beyond_body'
  /** A frame above FRAME_BYTES_MAX, read or written. */
  | 'frame_too_large'
  /** A number above 2^53-1 on the wire, or one that does not fit its field. */
  | 'bad_number'
  | 'bad_uuid'
  /** A map holds the same key twice. */
  | 'duplicate_key';

export class ProtoError extends Error {
  override readonly name = 'ProtoError';
  readonly code: ProtoErrorCode;

  constructor(code: ProtoErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
