// Broken promises of this package; expected outcomes are values.

export type HostAgentErrorCode =
  | 'run_dir_unusable'
  | 'socket_path_too_long'
  | 'invalid_session_id'
  | 'harness_unstartable'
  | 'data_dir_unusable';

export class HostAgentError extends Error {
  override readonly name = 'HostAgentError';

  constructor(
    readonly code: HostAgentErrorCode,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}
