// The HTTP API as the command line and the test kit call it. A refusal is an ApiRefusal with the API's own
// code; a server that cannot be reached is `not_running`.

import type { PendingQuestion, Session, Workspace } from '@engram/coordinator';
import type { Answers } from '@engram/harness-proto';
import { type ApiEvent, isApiEvent, readStream } from './api-events.js';
import { CliError } from './cli-error.js';

export class ApiRefusal extends CliError {
  readonly status: number;
  readonly apiCode: string;

  constructor(status: number, apiCode: string, detail: string) {
    super('api_refused', detail);
    this.name = 'ApiRefusal';
    this.status = status;
    this.apiCode = apiCode;
  }
}

export interface NewSessionBody {
  readonly prompt?: string;
  readonly title?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly workspace?: Workspace;
}

export interface EventPage {
  readonly events: readonly ApiEvent[];
  readonly next_since: number;
}

export interface LoginLink {
  readonly url: string;
  readonly expires_at: string;
}

export interface ApiClient {
  readonly url: string;
  /** Any call; the reply's JSON, unchecked. Throws ApiRefusal unless it is a 2xx. */
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<unknown>;
  createSession(body: NewSessionBody, idempotencyKey?: string): Promise<Session>;
  getSession(id: string): Promise<Session>;
  listSessions(
    query?: Readonly<Record<string, string>>,
  ): Promise<{ sessions: readonly Session[]; next_cursor?: string }>;
  deleteSession(id: string): Promise<void>;
  prompt(id: string, text: string, promptId?: string): Promise<string>;
  answer(id: string, toolCallId: string, answers: Answers): Promise<string>;
  dismiss(id: string, toolCallId: string, reason?: string): Promise<void>;
  attend(id: string, toolCallId: string): Promise<void>;
  interrupt(id: string): Promise<void>;
  sleep(id: string): Promise<void>;
  wake(id: string): Promise<void>;
  events(id: string, since?: number, limit?: number): Promise<EventPage>;
  pending(): Promise<readonly PendingQuestion[]>;
  status(): Promise<unknown>;
  createLoginLink(): Promise<LoginLink>;
  /** Every event with idx > since, then live ones, for ever or until `signal`; reconnects by itself. */
  stream(id: string, options?: { since?: number; signal?: AbortSignal }): AsyncGenerator<ApiEvent>;
}

const RECONNECT_MS = 500;
const GIVE_UP_AFTER = 20;

export function createApiClient({ url, token }: { readonly url: string; readonly token: string }): ApiClient {
  async function send(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token}`);
    let response: Response;
    try {
      response = await fetch(`${url}${path}`, { ...init, method, headers });
    } catch (cause) {
      if (init.signal?.aborted === true) throw cause;
      throw new CliError('not_running', `No Engram answers at ${url}.`, 'start it with `npm start`', { cause });
    }
    if (!response.ok) throw await toRefusal(response);
    return response;
  }

  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    const response = await send(method, path, {
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return text === '' ? undefined : JSON.parse(text);
  }

  const of = (id: string, rest = ''): string => `/api/v1/sessions/${encodeURIComponent(id)}${rest}`;
  const question = (id: string, toolCallId: string, verb: string): string =>
    of(id, `/questions/${encodeURIComponent(toolCallId)}/${verb}`);

  return {
    url,
    call,
    createSession: async (body, key) =>
      expect(
        await call('POST', '/api/v1/sessions', body, key === undefined ? {} : { 'idempotency-key': key }),
        isSession,
      ),
    getSession: async (id) => expect(await call('GET', of(id)), isSession),
    listSessions: async (query = {}) =>
      expect(await call('GET', `/api/v1/sessions?${new URLSearchParams(query).toString()}`), isSessionPage),
    deleteSession: async (id) => void (await call('DELETE', of(id))),
    prompt: async (id, text, promptId) =>
      expect(
        await call('POST', of(id, '/prompts'), { text, ...(promptId === undefined ? {} : { prompt_id: promptId }) }),
        isPromptReply,
      ).prompt_id,
    answer: async (id, toolCallId, answers) =>
      expect(await call('POST', of(id, '/answers'), { tool_call_id: toolCallId, answers }), isAnswerReply).state,
    dismiss: async (id, toolCallId, reason) =>
      void (await call('POST', question(id, toolCallId, 'dismiss'), reason === undefined ? {} : { reason })),
    attend: async (id, toolCallId) => void (await call('POST', question(id, toolCallId, 'attend'), {})),
    interrupt: async (id) => void (await call('POST', of(id, '/interrupt'))),
    sleep: async (id) => void (await call('POST', of(id, '/sleep'))),
    wake: async (id) => void (await call('POST', of(id, '/wake'))),
    events: async (id, since = 0, limit = 1000) =>
      expect(await call('GET', of(id, `/events?since=${since}&limit=${limit}`)), isEventPage),
    async pending() {
      const all: PendingQuestion[] = [];
      let cursor = '';
      do {
        const page = expect(await call('GET', `/api/v1/questions?state=pending${cursor}`), isQuestionPage);
        all.push(...page.questions);
        cursor = page.next_cursor === undefined ? '' : `&cursor=${encodeURIComponent(page.next_cursor)}`;
      } while (cursor !== '');
      return all;
    },
    status: () => call('GET', '/api/v1/status'),
    createLoginLink: async () => expect(await call('POST', '/api/v1/login-links'), isLoginLink),
    async *stream(id, { since = 0, signal } = {}) {
      let last = since;
      let failures = 0;
      const aborted = (): boolean => signal?.aborted === true;
      while (!aborted()) {
        try {
          const response = await send('GET', of(id, `/events?since=${last}`), {
            headers: { accept: 'text/event-stream', 'last-event-id': String(last) },
            ...(signal === undefined ? {} : { signal }),
          });
          if (response.body === null) return;
          for await (const event of readStream(response.body)) {
            failures = 0;
            if (event.idx !== undefined) {
              if (event.idx <= last) continue;
              last = event.idx;
            }
            yield event;
            if (event.type === 'session_deleted') return;
          }
        } catch (error) {
          if (aborted()) return;
          failures += 1;
          if (error instanceof ApiRefusal && error.status < 500 && error.status !== 429) throw error;
          if (failures > GIVE_UP_AFTER) throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
      }
    },
  };
}

async function toRefusal(response: Response): Promise<ApiRefusal> {
  const text = await response.text().catch(() => '');
  let problem: unknown;
  try {
    problem = JSON.parse(text);
  } catch {
    problem = undefined;
  }
  const field = (name: string): string | undefined => {
    if (!isRecord(problem)) return undefined;
    const value = problem[name];
    return typeof value === 'string' ? value : undefined;
  };
  const code = field('code') ?? `http_${response.status}`;
  return new ApiRefusal(response.status, code, `${field('detail') ?? field('title') ?? response.statusText} (${code})`);
}

// Replies of our own server: enough is looked at to tell them from an answer of something else.

function expect<T>(value: unknown, is: (value: unknown) => value is T): T {
  if (is(value)) return value;
  throw new CliError(
    'api_refused',
    'The server gave a reply that this command does not understand.',
    'use the `engram` of the same release',
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
function isSession(value: unknown): value is Session {
  return (
    isRecord(value) && typeof value.id === 'string' && typeof value.status === 'string' && Array.isArray(value.awaiting)
  );
}
function isSessionPage(value: unknown): value is { sessions: readonly Session[]; next_cursor?: string } {
  return isRecord(value) && Array.isArray(value.sessions) && value.sessions.every(isSession);
}
function isPromptReply(value: unknown): value is { prompt_id: string } {
  return isRecord(value) && typeof value.prompt_id === 'string';
}
function isAnswerReply(value: unknown): value is { state: string } {
  return isRecord(value) && typeof value.state === 'string';
}
function isEventPage(value: unknown): value is EventPage {
  return (
    isRecord(value) &&
    Array.isArray(value.events) &&
    value.events.every(isApiEvent) &&
    typeof value.next_since === 'number'
  );
}
function isQuestionPage(value: unknown): value is { questions: readonly PendingQuestion[]; next_cursor?: string } {
  return isRecord(value) && Array.isArray(value.questions);
}
function isLoginLink(value: unknown): value is LoginLink {
  return isRecord(value) && typeof value.url === 'string' && typeof value.expires_at === 'string';
}
