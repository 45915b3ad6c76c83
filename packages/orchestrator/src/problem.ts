// The one table of error codes: code → status → problem+json (RFC 9457). Everything that goes
// wrong at the public door leaves through here, and nothing but what stands here leaves: a cause
// is logged, never sent. The body carries no request id (that is a header), so that the three
// reasons for `not_found` cannot be told apart.

export const PROBLEMS = {
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_cursor: { status: 400, title: 'The cursor is not valid' },
  invalid_request: { status: 400, title: 'The request is not valid HTTP for this server' },
  unauthenticated: { status: 401, title: 'No valid identity' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'This path does not take this method' },
  question_closed: { status: 409, title: 'The question is closed' },
  prompt_not_queued: { status: 409, title: 'The prompt is no longer queued' },
  run_open: { status: 409, title: 'A run is open' },
  too_large: { status: 413, title: 'The request is too large' },
  unsupported_media_type: { status: 415, title: 'The content type is not supported' },
  invalid_body: { status: 422, title: 'The request is not valid' },
  invalid_answers: { status: 422, title: 'The answers do not fit the questions' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = Object.freeze(Object.keys(PROBLEMS).filter(isProblemCode));

export interface FieldError {
  /** Dotted path in the body, query or headers; `(body)` for the whole. */
  readonly field: string;
  readonly message: string;
}

export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  readonly detail?: string;
  readonly errors?: readonly FieldError[];
}

export interface ProblemExtras {
  readonly detail?: string | undefined;
  readonly errors?: readonly FieldError[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** Thrown anywhere behind the door to end the call with this problem. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  constructor(code: ProblemCode, extras: ProblemExtras = {}) {
    super(code, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = 'Problem';
    this.code = code;
    this.extras = extras;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }

  get headers(): Record<string, string> {
    return { ...standingHeaders(this.code), ...this.extras.headers };
  }

  body(): ProblemBody {
    const { status, title } = PROBLEMS[this.code];
    return {
      type: `urn:engram:problem:${this.code}`,
      title,
      status,
      code: this.code,
      ...(this.extras.detail === undefined ? {} : { detail: this.extras.detail }),
      ...(this.extras.errors === undefined ? {} : { errors: this.extras.errors }),
    };
  }
}

/** The one `not_found`: unknown, somebody else's, no such question, no such route below a session. */
export function notFound(): Problem {
  return new Problem('not_found', { detail: 'There is nothing here that you may see.' });
}

export function invalidBody(field: string, message: string): Problem {
  return new Problem('invalid_body', { detail: `${field}: ${message}`, errors: [{ field, message }] });
}

function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}

function standingHeaders(code: ProblemCode): Record<string, string> {
  if (code === 'unavailable') return { 'retry-after': '2' };
  if (code === 'rate_limited') return { 'retry-after': '1' };
  if (code === 'unauthenticated') return { 'www-authenticate': 'Bearer realm="engram"' };
  return {};
}
