// The events of a session's log: what a harness tells (harness-proto) and what the coordinator
// itself records. One shape for the database, REST, SSE and the web app.

import type { AgentMessageChunk, Answers, HarnessEvent } from '@engram/harness-proto';

export type SessionStatus = 'created' | 'active' | 'evicting' | 'idle' | 'host_lost' | 'failed';

export interface Actor {
  readonly id: string;
  readonly name: string;
}

/** A file beside the log: given with a prompt. `attachment_id` is the SHA-256 of its bytes. */
export interface Attachment {
  readonly attachment_id: string;
  /** As the person's machine called it; a label, never a path. */
  readonly name: string;
  readonly media_type: string;
  readonly size: number;
}

export type CoordinatorEvent =
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
  /** As the harness tells it, with the whole new text where it is known: the summary is short. */
  | { readonly type: 'prompt_edited'; readonly prompt_id: string; readonly summary?: string; readonly text?: string }
  | { readonly type: 'session_deleted' };

/** A kind this release does not know; its fields are kept and shown as they came. */
export interface ForeignEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What the log holds. `idx` starts at 1 in each session and has no gaps; `at` is ISO 8601, UTC. */
export interface StoredEvent {
  readonly idx: number;
  readonly at: string;
  /** The event's own fields, `type` included. A wire event of a newer harness is `{type:'unknown', index, bytes}` with base64 bytes. */
  readonly event: CoordinatorEvent | Exclude<HarnessEvent, AgentMessageChunk | { type: 'unknown' }> | ForeignEvent;
}

/** A stored event as the API shows it: `json` is `{"idx":…,"type":…,"at":…, …fields}` on one line. */
export interface EventText {
  readonly idx: number;
  readonly kind: string;
  readonly json: string;
}
