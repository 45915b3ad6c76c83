// Calls of the public API. Every failure is an ApiError with a stable code; calls that may be
// repeated without harm (the server knows them by an id of ours) are repeated until they are
// stored, because what a person sent must not depend on one packet.

import type { Attachment, LogEvent, NewSessionBody, ServerStatus, Session, SessionPage } from './api-types.js';
import { isJsonObject, parseLogEvent } from './parse-event.js';
import { words } from './strings.js';
import type { Answers } from './wire-types.js';

export class ApiError extends Error {
  constructor(
    /** 0 when no reply came. */
    readonly status: number,
    /** The server's code, or `network` or `timeout`. */
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

const CALL_TIMEOUT_MS = 15_000;
const UPLOAD_TIMEOUT_MS = 120_000;

interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** A file in place of JSON. */
  readonly bytes?: Blob;
  readonly headers?: Readonly<Record<string, string>>;
  /** Goes out even when the page is being left. */
  readonly keepalive?: boolean;
}

async function toError(response: Response): Promise<ApiError> {
  const problem: unknown = await response.json().catch(() => undefined);
  const code = isJsonObject(problem) && typeof problem.code === 'string' ? problem.code : `http_${response.status}`;
  const detail = isJsonObject(problem) ? (problem.detail ?? problem.title) : undefined;
  return new ApiError(response.status, code, typeof detail === 'string' ? detail : code);
}

async function send({ method, path, body, bytes, headers, keepalive = false }: Call): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      keepalive,
      signal: AbortSignal.timeout(bytes === undefined ? CALL_TIMEOUT_MS : UPLOAD_TIMEOUT_MS),
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(bytes === undefined ? {} : { 'content-type': 'application/octet-stream' }),
        ...headers,
      },
      ...(bytes === undefined ? {} : { body: bytes }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (cause) {
    const late = cause instanceof DOMException && cause.name === 'TimeoutError';
    throw new ApiError(0, late ? 'timeout' : 'network', late ? words.errors.timeout : words.errors.network);
  }
  if (!response.ok) throw await toError(response);
  return response;
}

// The server is ours and its replies are held against these types by a test; the shape is not
// checked a second time in the browser.
async function getJson<T>(path: string): Promise<T> {
  const response = await send({ method: 'GET', path });
  return response.json();
}

/** No reply, or a reply that says "not now": the same call may succeed a moment later. */
export function isPassing(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 502);
}

export function reasonOf(error: unknown): string {
  return error instanceof ApiError ? error.message : words.errors.unknown;
}

const RETRY_MS = [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 15_000, 15_000, 15_000, 15_000];

/** Repeats a call that is safe to repeat. `onWait` is told before each pause. */
export async function untilStored<T>(call: () => Promise<T>, onWait?: (waitMs: number) => void): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const waitMs = RETRY_MS[attempt];
      if (waitMs === undefined || !isPassing(error)) throw error;
      onWait?.(waitMs);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

const at = (sessionId: string) => `/sessions/${encodeURIComponent(sessionId)}`;
const question = (sessionId: string, toolCallId: string) =>
  `${at(sessionId)}/questions/${encodeURIComponent(toolCallId)}`;

export const api = {
  status: () => getJson<ServerStatus>('/status'),

  /** All pages: the list is small next to what it stands for, and its groups need all of it. */
  async listSessions(): Promise<readonly Session[]> {
    const sessions: Session[] = [];
    let cursor: string | undefined;
    do {
      const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: SessionPage = await getJson<SessionPage>(`/sessions?limit=200${query}`);
      sessions.push(...page.sessions);
      cursor = page.next_cursor;
    } while (cursor !== undefined && sessions.length < 2_000);
    return sessions;
  },

  async createSession(body: NewSessionBody, idempotencyKey: string): Promise<Session> {
    const headers = { 'idempotency-key': idempotencyKey };
    const response = await send({ method: 'POST', path: '/sessions', body, headers });
    return response.json();
  },

  async renameSession(id: string, title: string): Promise<void> {
    await send({ method: 'PATCH', path: at(id), body: { title } });
  },
  async deleteSession(id: string): Promise<void> {
    await send({ method: 'DELETE', path: at(id), keepalive: true });
  },

  async sendPrompt(id: string, text: string, promptId: string, files: readonly Attachment[] = []): Promise<void> {
    const attachments = files.map(({ attachment_id, name }) => ({ attachment_id, name }));
    const body = { text, prompt_id: promptId, ...(files.length === 0 ? {} : { attachments }) };
    await send({ method: 'POST', path: `${at(id)}/prompts`, body });
  },
  async uploadAttachment(id: string, bytes: Blob): Promise<Omit<Attachment, 'name'>> {
    const response = await send({ method: 'POST', path: `${at(id)}/attachments`, bytes });
    return response.json();
  },
  attachmentUrl: (id: string, attachmentId: string) =>
    `/api/v1${at(id)}/attachments/${encodeURIComponent(attachmentId)}`,
  async editPrompt(id: string, promptId: string, text: string): Promise<void> {
    await send({ method: 'PATCH', path: `${at(id)}/prompts/${encodeURIComponent(promptId)}`, body: { text } });
  },
  async withdrawPrompt(id: string, promptId: string): Promise<void> {
    await send({ method: 'DELETE', path: `${at(id)}/prompts/${encodeURIComponent(promptId)}` });
  },

  async answer(id: string, toolCallId: string, answers: Answers): Promise<void> {
    await send({ method: 'POST', path: `${at(id)}/answers`, body: { tool_call_id: toolCallId, answers } });
  },
  async dismiss(id: string, toolCallId: string): Promise<void> {
    await send({ method: 'POST', path: `${question(id, toolCallId)}/dismiss`, body: {} });
  },
  async attend(id: string, toolCallId: string): Promise<void> {
    await send({ method: 'POST', path: `${question(id, toolCallId)}/attend` });
  },

  async interrupt(id: string): Promise<void> {
    await send({ method: 'POST', path: `${at(id)}/interrupt` });
  },
  async sleep(id: string): Promise<void> {
    await send({ method: 'POST', path: `${at(id)}/sleep` });
  },
  async wake(id: string): Promise<void> {
    await send({ method: 'POST', path: `${at(id)}/wake` });
  },

  eventsUrl: (id: string) => `/api/v1${at(id)}/events`,
  /** The newest events with idx < before, oldest first. */
  async eventsBefore(id: string, before: number, limit: number): Promise<readonly LogEvent[]> {
    const page = await getJson<{ readonly events: readonly unknown[] }>(
      `${at(id)}/events?before=${before}&limit=${limit}`,
    );
    return page.events.flatMap((value) => parseLogEvent(value) ?? []);
  },
};
