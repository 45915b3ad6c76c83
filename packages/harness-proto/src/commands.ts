// What the host may order a harness to do. Same rules as events.ts: wire names, wire order,
// indices only appended. Every command but `interrupt` and the life-cycle ones carries an id by
// which the harness recognises a redelivery.

import type { Answers, Question } from './events.js';

export type CheckpointReason = 'idle' | 'preempt' | 'manual' | 'run_completed';

/** End the agent process cleanly, see the transcript marker, reply `harness_idle`. */
export interface Checkpoint {
  readonly type: 'checkpoint';
  readonly reason: CheckpointReason;
}
/** The same within the grace, then exit. */
export interface Shutdown {
  readonly type: 'shutdown';
  readonly grace_secs: number;
}
export interface Prompt {
  readonly type: 'prompt';
  readonly text: string;
  readonly prompt_id: string;
  // trailing
  /** W3C `traceparent` of what asked for this. */
  readonly trace_parent?: string;
}
export interface Interrupt {
  readonly type: 'interrupt';
}
/** Drop the link and attach again. */
export interface Rehandshake {
  readonly type: 'rehandshake';
}
export interface EditQueued {
  readonly type: 'edit_queued';
  readonly prompt_id: string;
  readonly text: string;
}
export interface DequeueQueued {
  readonly type: 'dequeue_queued';
  readonly prompt_id: string;
}
export interface AnswerQuestion {
  readonly type: 'answer_question';
  readonly tool_call_id: string;
  readonly answers: Answers;
  // trailing
  /** W3C `traceparent` of what asked for this. */
  readonly trace_parent?: string;
}
export interface DismissQuestion {
  readonly type: 'dismiss_question';
  readonly tool_call_id: string;
  readonly reason: string;
  // trailing
  /** W3C `traceparent` of what asked for this. */
  readonly trace_parent?: string;
}
/** A person is answering: wake ahead of the answer and hold. Renews; 0 releases the hold. */
export interface AttendQuestion {
  readonly type: 'attend_question';
  readonly tool_call_id: string;
  readonly hold_ms: number;
}
export interface OpenQuestion {
  readonly tool_call_id: string;
  readonly questions: readonly Question[];
}
/** What the log holds: sent first after every attach; accepted answers follow as `answer_question`. */
export interface Reconcile {
  readonly type: 'reconcile';
  readonly open: readonly OpenQuestion[];
  readonly closed: readonly string[];
}
/** The log has every event up to this sequence: the harness may forget its copies. */
export interface Acknowledge {
  readonly type: 'acknowledge';
  readonly stored_seq: number;
}
export interface UnknownCommand {
  readonly type: 'unknown';
  readonly index: number;
  readonly bytes: Uint8Array;
}

export type KnownHarnessCommand =
  | Checkpoint
  | Shutdown
  | Prompt
  | Interrupt
  | Rehandshake
  | EditQueued
  | DequeueQueued
  | AnswerQuestion
  | DismissQuestion
  | AttendQuestion
  | Reconcile
  | Acknowledge;

export type HarnessCommand = KnownHarnessCommand | UnknownCommand;

/** Wire index → type, in order. Only ever appended to. */
export const COMMAND_TYPES = [
  'checkpoint',
  'shutdown',
  'prompt',
  'interrupt',
  'rehandshake',
  'edit_queued',
  'dequeue_queued',
  'answer_question',
  'dismiss_question',
  'attend_question',
  'reconcile',
  'acknowledge',
] as const satisfies readonly KnownHarnessCommand['type'][];
