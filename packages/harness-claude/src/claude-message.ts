// What one line of the agent's stream-json output means to us. parse-claude-message.ts makes these
// values from unknown JSON; nothing behind it looks at raw lines again.
//
// Field names are the CLI's own (snake_case). A type or subtype we have no use for is `ignored`,
// a line that is not a JSON object with a type is `noise`: neither is ever an error.

export interface ClaudeInit {
  readonly type: 'init';
  readonly session_id: string;
  readonly cwd: string;
  readonly model: string;
  /** `claude_code_version`; '' when the CLI does not say. */
  readonly version: string;
  readonly permission_mode: string;
  readonly tools: readonly string[];
}

/** What happens inside the model's message while it streams (needs --include-partial-messages). */
export type StreamEvent =
  | { readonly type: 'message_start'; readonly message_id: string }
  | {
      readonly type: 'block_start';
      readonly index: number;
      readonly block: 'text' | 'thinking' | 'other';
    }
  | { readonly type: 'tool_use_start'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'text_delta'; readonly index: number; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly index: number }
  | { readonly type: 'block_stop'; readonly index: number }
  | { readonly type: 'message_delta'; readonly stop_reason: string | undefined }
  | { readonly type: 'message_stop' };

export interface ClaudeStreamEvent {
  readonly type: 'stream_event';
  readonly event: StreamEvent;
  /** The call whose subagent speaks; undefined in the main conversation. */
  readonly parent_tool_use_id: string | undefined;
  /** API message id. Newer CLIs repeat it on every event; older ones name it at message_start only. */
  readonly message_id: string | undefined;
}

export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export type AssistantBlock =
  | { readonly type: 'text'; readonly text: string }
  /** Empty when the model keeps it to itself. */
  | { readonly type: 'thinking'; readonly text: string }
  | ToolUseBlock
  | { readonly type: 'other' };

/** One content block (seldom more) of a model message; all blocks of one message share `message_id`. */
export interface ClaudeAssistant {
  readonly type: 'assistant';
  readonly message_id: string;
  readonly uuid: string | undefined;
  readonly parent_tool_use_id: string | undefined;
  readonly blocks: readonly AssistantBlock[];
  /** Made by the CLI, not by the model: error texts, "No response requested." */
  readonly synthetic: boolean;
  /** Set on the synthetic text of a failed request: the CLI's word for it (`rate_limit`, …) and the HTTP status. */
  readonly api_error: ApiError | undefined;
}

export interface ApiError {
  readonly kind: string;
  readonly status: number | undefined;
}

/** An image inside a result, in base64. */
export interface InlineImage {
  readonly media_type: string;
  readonly data: string;
}

export interface ToolResultBlock {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly is_error: boolean;
  /** Text of the result; parts that are no text are named in brackets. */
  readonly content: string;
  /** Absent when there is none. */
  readonly images?: readonly InlineImage[];
}

export type UserBlock = ToolResultBlock | { readonly type: 'text'; readonly text: string } | { readonly type: 'other' };

export interface ClaudeUser {
  readonly type: 'user';
  readonly uuid: string | undefined;
  readonly parent_tool_use_id: string | undefined;
  readonly blocks: readonly UserBlock[];
  /** Our own line, echoed (--replay-user-messages), or the CLI's replay of a command. */
  readonly is_replay: boolean;
  /** Written by the CLI in the user's place. */
  readonly is_synthetic: boolean;
  /** The tool's structured result, as the tool made it; a string when the call failed. */
  readonly tool_use_result: unknown;
}

export interface ClaudeUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
}

/** The end of a turn. `is_error` may be true although `subtype` is "success" (a failed API request). */
export interface ClaudeResult {
  readonly type: 'result';
  readonly subtype: string;
  readonly is_error: boolean;
  readonly session_id: string;
  readonly stop_reason: string | undefined;
  readonly terminal_reason: string | undefined;
  readonly num_turns: number;
  /** The text of the last message, or of the error. */
  readonly result: string | undefined;
  readonly errors: readonly string[];
  readonly api_error_status: number | undefined;
  readonly usage: ClaudeUsage | undefined;
  /** Since the process started; newer CLIs add what earlier processes of the conversation spent. */
  readonly total_cost_usd: number | undefined;
  /** Of this turn alone; older CLIs do not say. */
  readonly turn_cost_usd: number | undefined;
  readonly deferred_tool_use: DeferredToolUse | undefined;
}

export interface DeferredToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface ClaudeControlRequest {
  readonly type: 'control_request';
  readonly request_id: string;
  /** `can_use_tool` is the one we know. */
  readonly subtype: string;
  readonly tool_name: string | undefined;
  readonly tool_use_id: string | undefined;
  readonly input: unknown;
}
/** The CLI no longer wants the reply to this request. */
export interface ClaudeControlCancelRequest {
  readonly type: 'control_cancel_request';
  readonly request_id: string;
}
export interface ClaudeControlResponse {
  readonly type: 'control_response';
  readonly request_id: string;
  readonly ok: boolean;
  readonly error: string | undefined;
  readonly response: unknown;
}

/** Any other `system` line: api_retry, compact_boundary, task_*, informational, status, … */
export interface ClaudeSystem {
  readonly type: 'system';
  readonly subtype: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A type we have no use for. `known` tells those we have seen from new ones, which are counted. */
export interface ClaudeIgnored {
  readonly type: 'ignored';
  readonly original_type: string;
  readonly subtype: string | undefined;
  readonly known: boolean;
}

/** Not a JSON object with a type. `text` is the start of the line, for a diagnosis; never log it. */
export interface ClaudeNoise {
  readonly type: 'noise';
  readonly text: string;
}

export type ClaudeMessage =
  | ClaudeInit
  | ClaudeStreamEvent
  | ClaudeAssistant
  | ClaudeUser
  | ClaudeResult
  | ClaudeControlRequest
  | ClaudeControlCancelRequest
  | ClaudeControlResponse
  | ClaudeSystem
  | ClaudeIgnored
  | ClaudeNoise;
