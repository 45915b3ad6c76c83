// What a command says when it cannot do what it was asked: one sentence and the next step, without a
// stack. Everything else that is thrown is a fault of ours and shows where it came from.

export type CliErrorCode =
  | 'bad_config'
  | 'data_folder'
  | 'already_running'
  | 'port_taken'
  | 'claude_unusable'
  | 'not_running'
  | 'api_refused'
  | 'start_failed'
  | 'part_ended'
  | 'bad_answer';

export class CliError extends Error {
  readonly code: CliErrorCode;
  readonly nextStep: string | undefined;

  constructor(code: CliErrorCode, message: string, nextStep?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CliError';
    this.code = code;
    this.nextStep = nextStep;
  }
}

/** The lines a person sees. Errors of the other packages are sentences as well and are shown as they are. */
export function explainError(error: unknown): string {
  if (error instanceof CliError) {
    return error.nextStep === undefined ? error.message : `${error.message}\n  Next step: ${error.nextStep}`;
  }
  if (error instanceof Error && 'code' in error && /^(Coordinator|HostAgent|Orchestrator)Error$/.test(error.name)) {
    return error.message;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
