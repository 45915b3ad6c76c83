// A reply of the cores in the words of each channel: the hook's decision, the permission reply, or
// a message of the user's. Pure.

import { assertNever } from '@engram/harness-proto';
import {
  toDismissalReason,
  toFallbackDismissal,
  toFallbackMessage,
  toSupersededInput,
  toUpdatedInput,
} from './answer-text.js';
import type { HookDecision } from './hook-server.js';
import type { HookReply, ParkedCall, Verdict } from './question-state.js';

const NOTHING_USABLE = 'The reply of the user holds nothing that can be passed on.';

/** `firedInput`: the tool input that came with this fire, for a call whose input was not saved. */
export function toHookDecision(reply: HookReply, firedInput: unknown): HookDecision {
  switch (reply.type) {
    case 'defer':
      return { permissionDecision: 'defer' };
    case 'deny':
      return deny(reply.reason);
    case 'verdict':
      return verdictDecision(reply.call, reply.verdict, firedInput);
    default:
      return assertNever(reply);
  }
}

function verdictDecision(call: ParkedCall, verdict: Verdict, firedInput: unknown): HookDecision {
  const input = call.input ?? firedInput;
  switch (verdict.type) {
    case 'answer':
      return allow(toUpdatedInput(input, call.questions, verdict.answers));
    case 'superseded':
      return allow(toSupersededInput(input, call.questions, verdict.text));
    case 'denied':
      return deny(toDismissalReason(verdict.reason));
    case 'denied_then_prompt':
      return deny(`${toDismissalReason(verdict.reason)} Then the user wrote:\n\n${verdict.text}`);
    default:
      return assertNever(verdict);
  }
}

function allow(updatedInput: unknown): HookDecision {
  return updatedInput === undefined ? deny(NOTHING_USABLE) : { permissionDecision: 'allow', updatedInput };
}

function deny(reason: string): HookDecision {
  return { permissionDecision: 'deny', permissionDecisionReason: reason };
}

/** The same decision as the body of a `can_use_tool` reply; that channel cannot defer. */
export function toPermissionReply(decision: HookDecision): Readonly<Record<string, unknown>> {
  switch (decision.permissionDecision) {
    case 'allow':
      return { behavior: 'allow', updatedInput: decision.updatedInput };
    case 'deny':
      return { behavior: 'deny', message: decision.permissionDecisionReason };
    case 'defer':
      return { behavior: 'deny', message: 'The question could not be kept open. Ask it again.' };
    default:
      return assertNever(decision);
  }
}

export function toVerdictMessage(call: ParkedCall, verdict: Verdict): string {
  switch (verdict.type) {
    case 'answer':
      return toFallbackMessage(call.questions, verdict.answers) ?? NOTHING_USABLE;
    case 'superseded':
      return verdict.text;
    case 'denied':
      return toFallbackDismissal(call.questions, verdict.reason);
    case 'denied_then_prompt':
      return verdict.text;
    default:
      return assertNever(verdict);
  }
}
