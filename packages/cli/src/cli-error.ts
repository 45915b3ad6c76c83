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
  | 'bad_answer'
  | 'backup_file'
  | 'backup_damaged'
  | 'database_moved';

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

/** Errors of the other packages that are sentences for a person, with a code of their own. */
function isSentence(error: unknown): error is Error & { readonly code: unknown } {
  return (
    error instanceof Error && 'code' in error && /^(Coordinator|HostAgent|Orchestrator|Store)Error$/.test(error.name)
  );
}

/** The lines a person sees. */
export function explainError(error: unknown): string {
  if (error instanceof CliError) {
    return error.nextStep === undefined ? error.message : `${error.message}\n  Next step: ${error.nextStep}`;
  }
  if (isSentence(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What --json names an error: `internal` is a fault of ours. */
export function toErrorCode(error: unknown): string {
  return error instanceof CliError || isSentence(error) ? String(error.code) : 'internal';
}
