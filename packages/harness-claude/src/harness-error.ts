// The one error class of this package: a promise that could not be kept, with a stable code.

export type HarnessErrorCode =
  | 'bad_assignment'
  | 'state_damaged'
  | 'socket_path_too_long'
  | 'agent_not_started'
  | 'agent_still_there'
  | 'stale_epoch'
  | 'link_broken';

export class HarnessError extends Error {
  readonly code: HarnessErrorCode;

  constructor(code: HarnessErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'HarnessError';
    this.code = code;
  }
}
