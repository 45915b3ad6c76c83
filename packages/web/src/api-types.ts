// The public API as the page sees it, written by hand: the page is a client like any other.
// A test at the root holds these against the server's own types. Only types live here.

import type { Answers, Actor as ApiActor, KnownHarnessEvent, Question } from './wire-types.js';

export type Actor = ApiActor;

export type SessionStatus = 'created' | 'active' | 'evicting' | 'idle' | 'host_lost' | 'failed';
export type QuestionState = 'waiting' | 'sent' | 'failed';

export type Workspace =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'git'; readonly url: string; readonly ref?: string }
  | { readonly kind: 'empty' };

export interface AwaitingQuestion {
  readonly tool_call_id: string;
  readonly questions: readonly Question[];
  readonly asked_at: string;
  readonly state: QuestionState;
}

export interface UsageTotal {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly cost_micro_usd: number;
}

export interface Session {
  readonly id: string;
  readonly title: string;
  readonly agent: string;
  readonly model?: string;
  readonly status: SessionStatus;
  readonly running: boolean;
  readonly awaiting: readonly AwaitingQuestion[];
  readonly owner: string;
  readonly workspace: Workspace;
  readonly created_at: string;
  readonly updated_at: string;
  readonly last_event_idx: number;
  readonly usage: UsageTotal;
  readonly undelivered: readonly {
    readonly kind: string;
    readonly id: string;
    readonly text?: string;
    readonly accepted_at: string;
  }[];
}

export interface SessionPage {
  readonly sessions: readonly Session[];
  readonly next_cursor?: string;
}

export interface NewSessionBody {
  readonly prompt?: string;
  readonly title?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly workspace?: Workspace;
}

/** `GET /api/v1/status`: what a newcomer must know before the first prompt. */
export interface ServerStatus {
  readonly version: string;
  readonly credentials: 'environment' | 'none';
  readonly demo: boolean;
  readonly you: Actor;
  readonly isolation?: string;
  readonly claude_version?: string;
  /** Where a session in a folder starts when nothing else is said. */
  readonly default_workspace?: string;
}

/** A file beside the log, by what it holds. */
export interface Attachment {
  readonly attachment_id: string;
  readonly name: string;
  readonly media_type: string;
  readonly size: number;
}

export type CoordinatorEvent =
  /** Logs of 0.1.0 hold only the beginning of the new text, as the summary. */
  | { readonly type: 'prompt_edited'; readonly prompt_id: string; readonly summary?: string; readonly text?: string }
  | { readonly type: 'session_created'; readonly title: string; readonly agent: string; readonly by: Actor }
  | { readonly type: 'status_changed'; readonly from: SessionStatus; readonly to: SessionStatus }
  | {
      readonly type: 'prompt_received';
      readonly prompt_id: string;
      readonly text: string;
      readonly by: Actor;
      readonly attachments?: readonly Attachment[];
    }
  | { readonly type: 'answer_submitted'; readonly tool_call_id: string; readonly answers: Answers; readonly by: Actor }
  | {
      readonly type: 'question_dismissed';
      readonly tool_call_id: string;
      readonly reason: string;
      readonly run_id?: string;
      readonly by?: Actor;
    }
  | { readonly type: 'answer_failed'; readonly tool_call_id: string; readonly code: string; readonly message: string }
  | { readonly type: 'session_error'; readonly code: string; readonly message: string }
  | { readonly type: 'session_deleted' };

/** Every kind the page knows how to show. */
export type KnownEvent =
  | CoordinatorEvent
  | Exclude<KnownHarnessEvent, { type: 'agent_message_chunk' | 'question_dismissed' | 'prompt_edited' }>;

/** A kind of a newer server: shown by name, never guessed at. `fields` is its JSON. */
export interface UnrecognisedEvent {
  readonly type: 'unrecognised';
  readonly name: string;
  readonly fields: string;
}

export interface LogEvent {
  readonly idx: number;
  readonly at: string;
  /** Set when the store kept only a part of an event this big: lists and texts in it were cut. */
  readonly droppedBytes?: number;
  readonly event: KnownEvent | UnrecognisedEvent;
}
