// Everything that can happen in a session, as the harness tells it.
//
// A HarnessEvent has the wire's own names (snake_case), so the same value is what the codec
// writes, what the log stores and what the public API shows. The order of the fields here is
// the order on the wire; a variant's index never changes and new ones go at the end.
// A field after the comment "trailing" was added to a released variant: an encoder leaves all
// trailing fields out when none is set, a decoder takes them as absent when the body ends.

export interface QuestionOption {
  readonly label: string;
  readonly description: string;
}

export interface Question {
  readonly question: string;
  readonly header: string;
  readonly multi_select: boolean;
  readonly options: readonly QuestionOption[];
}

/** Question text → chosen labels or free text; always a list, also for a single choice. */
export type Answers = Readonly<Record<string, readonly string[]>>;

export type MessageRole = 'assistant' | 'user' | 'system';

export interface EditHunk {
  readonly old: string;
  readonly new: string;
}

/** One hunk of a unified diff. `lines` start with ' ', '+', '-' or '\'. Line numbers count from 1. */
export interface PatchHunk {
  readonly old_start: number;
  readonly old_lines: number;
  readonly new_start: number;
  readonly new_lines: number;
  readonly lines: readonly string[];
}

/** What happened to the file: it was made, changed in place, or written over as a whole. */
export type PatchKind = 'create' | 'update' | 'overwrite';

export type FileChange =
  | { readonly type: 'write'; readonly content: string }
  | { readonly type: 'edit'; readonly hunks: readonly EditHunk[] }
  | {
      readonly type: 'patch';
      readonly kind: PatchKind;
      readonly hunks: readonly PatchHunk[];
      /** Lines added and removed, over all hunks, stored or dropped. */
      readonly additions: number;
      readonly deletions: number;
      /** The counts are an estimate: the exact diff would have taken too long. */
      readonly approximate: boolean;
    };

/** What a cap removed from an event. */
export interface Truncation {
  readonly dropped_hunks: number;
  readonly dropped_bytes: number;
}

export interface RunStarted {
  readonly type: 'run_started';
  readonly run_id: string;
  readonly prompt_summary?: string;
  readonly prompt_id?: string;
}
export interface AgentMessage {
  readonly type: 'agent_message';
  readonly run_id: string;
  readonly message_id: string;
  readonly role: MessageRole;
  readonly text: string;
  // trailing
  readonly truncated_bytes?: number;
}
export interface ToolCallStarted {
  readonly type: 'tool_call_started';
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly args_summary?: string;
  // trailing
  readonly truncated_bytes?: number;
  /** The call that started this one: set for calls made by a subagent. */
  readonly parent_tool_call_id?: string;
}
/** An image that a tool gave back. Its bytes travel beside the log, named by their SHA-256 in hex. */
export interface ResultImage {
  readonly attachment_id: string;
  readonly media_type: string;
  readonly size: number;
}
export interface ToolCallCompleted {
  readonly type: 'tool_call_completed';
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly ok: boolean;
  readonly duration_ms: number;
  readonly result_summary?: string;
  // trailing
  readonly truncated_bytes?: number;
  readonly images?: readonly ResultImage[];
}
export interface RunCompleted {
  readonly type: 'run_completed';
  readonly run_id: string;
  readonly ok: boolean;
}
export interface RunInterrupted {
  readonly type: 'run_interrupted';
  readonly run_id: string;
}
export interface HarnessIdle {
  readonly type: 'harness_idle';
}
export interface PromptQueued {
  readonly type: 'prompt_queued';
  readonly prompt_id: string;
  readonly summary?: string;
}
export interface PromptEdited {
  readonly type: 'prompt_edited';
  readonly prompt_id: string;
  readonly summary?: string;
}
export interface PromptDequeued {
  readonly type: 'prompt_dequeued';
  readonly prompt_id: string;
}
/** Ephemeral: shown live, never stored. */
export interface AgentMessageChunk {
  readonly type: 'agent_message_chunk';
  readonly run_id: string;
  readonly message_id: string;
  readonly chunk: string;
}
export interface UserQuestion {
  readonly type: 'user_question';
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly questions: readonly Question[];
  // trailing: parallel to `questions`, each list parallel to that question's `options`; '' = no preview
  readonly option_previews?: readonly (readonly string[])[];
}
export interface QuestionAnswered {
  readonly type: 'question_answered';
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly answers: Answers;
}
export interface FileChanged {
  readonly type: 'file_changed';
  readonly run_id: string;
  readonly tool_call_id: string;
  /** Relative to the workspace when inside it, else absolute. */
  readonly path: string;
  readonly change: FileChange;
  // trailing
  readonly truncation?: Truncation;
}
export interface QuestionDismissed {
  readonly type: 'question_dismissed';
  readonly run_id: string;
  readonly tool_call_id: string;
  /** `declined`, `superseded`, `interrupted`, `withdrawn`, or the person's own words. */
  readonly reason: string;
}
/** Tokens and cost of one run, as the agent reports them at its end. */
export interface Usage {
  readonly type: 'usage';
  readonly run_id: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  /** Millionths of a US dollar; absent when the agent does not price its work. */
  readonly cost_micro_usd?: number;
}
export type NoticeLevel = 'info' | 'warning' | 'error';
/** Something a person should know that is neither a message nor a tool call. */
export interface Notice {
  readonly type: 'notice';
  readonly level: NoticeLevel;
  /** Stable, snake_case: `permission_policy`, `question_tool_missing`, `hook_unhealthy`, `context_lost`, … */
  readonly code: string;
  readonly message: string;
  readonly run_id?: string;
  readonly tool_call_id?: string;
}
/** What the agent thought before it spoke or acted, as far as its model shows it. */
export interface AgentThought {
  readonly type: 'agent_thought';
  readonly run_id: string;
  /** The message that the thought is a part of. */
  readonly message_id: string;
  readonly text: string;
  // trailing
  readonly truncated_bytes?: number;
}
/** An event of a newer peer: kept and passed on byte for byte. `bytes` is the body after the index. */
export interface UnknownEvent {
  readonly type: 'unknown';
  readonly index: number;
  readonly bytes: Uint8Array;
}

export type KnownHarnessEvent =
  | RunStarted
  | AgentMessage
  | ToolCallStarted
  | ToolCallCompleted
  | RunCompleted
  | RunInterrupted
  | HarnessIdle
  | PromptQueued
  | PromptEdited
  | PromptDequeued
  | AgentMessageChunk
  | UserQuestion
  | QuestionAnswered
  | FileChanged
  | QuestionDismissed
  | Usage
  | Notice
  | AgentThought;

export type HarnessEvent = KnownHarnessEvent | UnknownEvent;

/** Wire index → type, in order. Only ever appended to. */
export const EVENT_TYPES = [
  'run_started',
  'agent_message',
  'tool_call_started',
  'tool_call_completed',
  'run_completed',
  'run_interrupted',
  'harness_idle',
  'prompt_queued',
  'prompt_edited',
  'prompt_dequeued',
  'agent_message_chunk',
  'user_question',
  'question_answered',
  'file_changed',
  'question_dismissed',
  'usage',
  'notice',
  'agent_thought',
] as const satisfies readonly KnownHarnessEvent['type'][];

/** True for every event that is stored and counted in `last_event_seq`: all but message chunks. */
export function isStoredEvent(event: HarnessEvent): boolean {
  return event.type !== 'agent_message_chunk';
}
