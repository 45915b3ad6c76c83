// Who waits for a reply of ours, hooks and permission requests alike, and with what input: takes
// them in as inputs of the session and gives the core's replies back on the channel they came by.
// What is not a question is answered here: every request of the agent gets some reply.

import type { Logger } from 'pino';
import type { AgentRunner } from './agent-runner.js';
import type { ClaudeControlRequest } from './claude-message.js';
import type { HookRequest, HookServer } from './hook-server.js';
import { QUESTION_TOOL } from './question-input.js';
import type { Fire, HookReply } from './question-state.js';
import type { SessionInput } from './session-core.js';
import { toHookDecision, toPermissionReply } from './verdict-reply.js';

export interface ReplyDeskParts {
  readonly agent: AgentRunner;
  readonly hooks: () => HookServer | undefined;
  /** A question of the session's, from here on. */
  readonly onQuestion: (toolCallId: string) => void;
  /** So long a question may be held that cannot be parked. */
  readonly holdMs: number;
  readonly log: Logger;
}

export interface ReplyDesk {
  fired(request: HookRequest): SessionInput | undefined;
  requested(message: ClaudeControlRequest): SessionInput | undefined;
  reply(fire: Fire, reply: HookReply): void;
  allow(requestId: string, toolName: string): void;
  /** The process is gone, and with it everybody who waited. */
  clear(): void;
}

export function createReplyDesk({ agent, hooks, onQuestion, holdMs, log }: ReplyDeskParts): ReplyDesk {
  const inputs = new Map<string, unknown>();
  const take = (id: string): unknown => {
    const input = inputs.get(id);
    inputs.delete(id);
    return input;
  };

  return {
    fired({ fireId, toolCallId, toolName, agentId, input }) {
      log.info({ fireId, toolCallId, tool: toolName }, 'hook fired');
      if (toolName !== QUESTION_TOOL) {
        hooks()?.reply(fireId, undefined);
        return undefined;
      }
      if (agentId !== undefined) {
        const reason = 'A subagent cannot ask the user. Report the question to the agent that started you.';
        hooks()?.reply(fireId, { permissionDecision: 'deny', permissionDecisionReason: reason });
        return undefined;
      }
      inputs.set(fireId, input);
      onQuestion(toolCallId);
      return { type: 'hook_fired', fireId, toolCallId, input };
    },
    requested({ request_id: requestId, subtype, tool_name: toolName, tool_use_id, input }) {
      if (subtype !== 'can_use_tool' || toolName === undefined) {
        log.warn({ subtype }, 'request of the agent that we do not know');
        agent.refuse(requestId, 'not supported');
        return undefined;
      }
      const toolCallId = tool_use_id ?? '';
      const isQuestion = toolName === QUESTION_TOOL;
      inputs.set(requestId, input);
      if (isQuestion) onQuestion(toolCallId);
      return { type: 'permission_asked', requestId, toolCallId, toolName, isQuestion, input, holdMs };
    },
    reply(fire, reply) {
      const decision = toHookDecision(reply, take(fire.fireId));
      const { fireId, channel } = fire;
      log.info({ fireId, channel, decision: decision.permissionDecision }, 'hook replied');
      if (channel === 'permission') agent.respond(fireId, toPermissionReply(decision));
      else if (hooks()?.reply(fireId, decision) === false) log.warn({ fireId }, 'hook was gone');
    },
    allow(requestId, toolName) {
      log.info({ requestId, tool: toolName }, 'tool allowed on request');
      agent.respond(requestId, { behavior: 'allow', updatedInput: take(requestId) ?? {} });
    },
    clear: () => inputs.clear(),
  };
}
