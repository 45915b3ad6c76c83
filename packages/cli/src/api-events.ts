// Events as the public API sends them, and the reader of its event stream. The server is of this same
// program, so a known type is taken to have its fields; whoever shows an event must survive one that has not.

import type { CoordinatorEvent } from '@engram/coordinator';
import { EVENT_TYPES, type KnownHarnessEvent } from '@engram/harness-proto';

export type KnownEvent = KnownHarnessEvent | CoordinatorEvent;

export interface ApiEvent {
  /** Absent for what is not stored: message chunks and `lagged`. */
  readonly idx?: number;
  readonly type: string;
  readonly at?: string;
  readonly [field: string]: unknown;
}

const COORDINATOR_TYPES: readonly CoordinatorEvent['type'][] = [
  'session_created',
  'status_changed',
  'prompt_received',
  'answer_submitted',
  'question_dismissed',
  'answer_failed',
  'session_error',
  'session_deleted',
];
const KNOWN: ReadonlySet<string> = new Set([...EVENT_TYPES, ...COORDINATOR_TYPES]);

export function isKnownEvent(event: unknown): event is KnownEvent {
  return isApiEvent(event) && KNOWN.has(event.type);
}

export function isApiEvent(value: unknown): value is ApiEvent {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    (!('idx' in value) || typeof value.idx === 'number')
  );
}

/** Nothing more comes by itself after this one: the agent rests, asks, or is gone. */
export function endsTurn(event: ApiEvent): boolean {
  return event.type === 'harness_idle' || event.type === 'session_error' || event.type === 'session_deleted';
}

/** The `data:` of one server-sent event after another; comments and other fields are left out. */
export async function* readStream(body: AsyncIterable<Uint8Array>): AsyncGenerator<ApiEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data:')) continue;
      const event = parseJson(line.slice('data:'.length).trim());
      if (isApiEvent(event)) yield event;
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
