// The rows that a conversation is made of. Keys come from our own idx, so they are unique whatever an
// agent names its messages and calls.

import type { Actor, Attachment } from './api-types.js';
import type { QuestionCard } from './question-cards.js';
import type { FileChange, ResultImage, Truncation } from './wire-types.js';

export type RunState = 'open' | 'done' | 'failed' | 'interrupted';
export type ToolState = 'running' | 'ok' | 'error' | 'no_result';

export interface RunRow {
  readonly kind: 'run';
  readonly key: string;
  readonly runId: string;
  /** Undefined while the log before it is not read yet. */
  readonly number: number | undefined;
  readonly state: RunState;
  readonly tools: number;
  readonly failedTools: number;
  readonly startedAt: string;
  readonly endedAt: string | undefined;
  readonly continuesAnswer: boolean;
  readonly costMicroUsd: number | undefined;
  readonly outputTokens: number | undefined;
}
export interface ToolRow {
  readonly kind: 'tool';
  readonly key: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly name: string;
  readonly args: string | undefined;
  readonly argsCutBytes: number;
  readonly result: string | undefined;
  readonly resultCutBytes: number;
  readonly images: readonly ResultImage[];
  readonly durationMs: number | undefined;
  readonly state: ToolState;
  readonly ofSubagent: boolean;
}
export interface ChangeRow {
  readonly kind: 'change';
  readonly key: string;
  readonly idx: number;
  readonly runId: string;
  readonly path: string;
  readonly change: FileChange;
  readonly truncation: Truncation | undefined;
}
export interface PromptRow {
  readonly kind: 'prompt';
  readonly key: string;
  readonly text: string;
  readonly by: Actor | undefined;
  readonly at: string;
  readonly attachments: readonly Attachment[];
  /** Accepted and not running yet, with nothing before it: the agent is woken for it, or cannot start. */
  readonly pending: 'waking' | 'stuck' | undefined;
}
export interface ThoughtRow {
  readonly kind: 'thought';
  readonly key: string;
  readonly runId: string;
  readonly text: string;
  readonly cutBytes: number;
}
export interface NoticeRow {
  readonly kind: 'notice';
  readonly key: string;
  readonly level: 'info' | 'warning' | 'error';
  readonly code: string;
  readonly message: string;
  readonly at: string;
}
export type Row =
  | RunRow
  | ToolRow
  | ChangeRow
  | PromptRow
  | {
      readonly kind: 'message';
      readonly key: string;
      readonly runId: string;
      readonly role: 'assistant' | 'user' | 'system';
      readonly text: string;
      readonly cutBytes: number;
      readonly live: boolean;
    }
  | { readonly kind: 'question'; readonly key: string; readonly runId: string; readonly card: QuestionCard }
  | ThoughtRow
  | NoticeRow
  /** Stands for the part of the log that is not read yet. */
  | { readonly kind: 'earlier'; readonly key: string }
  | { readonly kind: 'unrecognised'; readonly key: string; readonly name: string; readonly fields: string };
