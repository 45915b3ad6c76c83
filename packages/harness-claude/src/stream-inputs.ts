// What a line of the agent's output means to the session's core. Pure, with one memory: the id of
// the message that streams, as older CLIs name it at its start only. Subagents' lines mean nothing
// here: a question cannot come from them.

import type { ClaudeMessage, ClaudeResult } from './claude-message.js';
import { QUESTION_TOOL } from './question-input.js';
import type { SessionInput, TurnResult } from './session-core.js';

export interface StreamReading {
  readonly messageId: string;
  readonly inputs: readonly SessionInput[];
}

export function toSessionInputs(message: ClaudeMessage, messageId: string): StreamReading {
  const none: StreamReading = { messageId, inputs: [] };
  switch (message.type) {
    case 'init':
      return {
        messageId,
        inputs: [
          {
            type: 'initialized',
            claudeSessionId: message.session_id,
            hasQuestionTool: message.tools.includes(QUESTION_TOOL),
          },
        ],
      };
    case 'stream_event': {
      if (message.parent_tool_use_id !== undefined) return none;
      const { event } = message;
      if (event.type === 'message_start') {
        return { messageId: event.message_id, inputs: [{ type: 'message_started', messageId: event.message_id }] };
      }
      if (event.type === 'message_stop') return { messageId, inputs: [{ type: 'message_stopped' }] };
      if (event.type !== 'tool_use_start') return none;
      const of = message.message_id ?? messageId;
      return {
        messageId,
        inputs: [{ type: 'call_seen', messageId: of, toolCallId: event.id, toolName: event.name }],
      };
    }
    case 'assistant': {
      if (message.parent_tool_use_id !== undefined || message.synthetic) return none;
      const calls = message.blocks.flatMap((block): SessionInput[] =>
        block.type === 'tool_use'
          ? [
              {
                type: 'call_seen',
                messageId: message.message_id,
                toolCallId: block.id,
                toolName: block.name,
              },
            ]
          : [],
      );
      return { messageId, inputs: [{ type: 'message_seen' }, ...calls] };
    }
    case 'user': {
      if (message.parent_tool_use_id !== undefined) return none;
      if (message.is_replay) {
        return message.uuid === undefined ? none : { messageId, inputs: [{ type: 'line_taken', uuid: message.uuid }] };
      }
      const inputs = message.blocks.flatMap((block): SessionInput[] =>
        block.type === 'tool_result'
          ? [{ type: 'call_result', toolCallId: block.tool_use_id, isError: block.is_error, text: block.content }]
          : [],
      );
      return { messageId, inputs };
    }
    case 'result':
      return { messageId, inputs: [toTurnResult(message)] };
    default:
      return none;
  }
}

export function toTurnResult(result: ClaudeResult): TurnResult {
  const { deferred_tool_use: deferred } = result;
  return {
    type: 'turn_result',
    ok: !result.is_error && result.subtype === 'success',
    ...(deferred ? { deferred: { toolCallId: deferred.id, toolName: deferred.name } } : {}),
    // Absent on some clean ones; "completed" means that the model went on after the defer.
    poisoned: deferred !== undefined && result.terminal_reason === 'completed',
    unknownSession: result.is_error && result.errors.some((error) => /no conversation found/i.test(error)),
    toolUnavailable: result.stop_reason === 'tool_deferred_unavailable',
    empty: result.num_turns === 0 && !result.is_error,
  };
}
