// One session's state and how every input changes it: routes to the question's life
// (question-core), to prompts and runs (run-core) and to the defer gate, and then does what is owed
// (session-pump). Pure; run ids come in with the input.

import { assertNever, type HarnessEvent, type KnownHarnessCommand } from '@engram/harness-proto';
import {
  agentExited,
  callResult,
  callSeen,
  checkTaken,
  deferredChecked,
  lineTaken,
  messageStarted,
  parkedFired,
  permissionAsked,
  tryGate,
  turnResult,
} from './agent-turns.js';
import {
  CLOSED_GATE,
  callOrder,
  type Gate,
  gateCallResult,
  gateFired,
  gateFireLost,
  gateMessageStopped,
  gateOverdue,
} from './defer-gate.js';
import type { LaunchDenials } from './launch-denials.js';
import { recoverQuestion, stepQuestion } from './question-core.js';
import {
  type Fire,
  type HookReply,
  NO_QUESTION,
  type ParkedCall,
  type QuestionState,
  type Verdict,
} from './question-state.js';
import { recoverRuns, stepRun } from './run-core.js';
import { type Line, type LineTrace, NO_RUNS, type RunState } from './run-state.js';
import { reconcile, takeAnswer, takeDismissal, takePrompt } from './session-commands.js';
import { SessionDraft } from './session-draft.js';
import { forgottenNotice, type TakenLine, withoutChecked } from './taken-lines.js';

/** A parked call that is over, and the event that said so; told again when its command is redelivered. */
export interface ConsumedCall {
  readonly toolCallId: string;
  readonly event: HarnessEvent;
  /**
   * The verdict that a hook carried. A process killed right after its stream showed the result may
   * not have written it to its transcript: the hook then fires again, and gets the same once more.
   */
  readonly byHook?: { readonly call: ParkedCall; readonly verdict: Verdict };
}

export interface SessionState {
  readonly version: 1;
  readonly question: QuestionState;
  readonly runs: RunState;
  readonly gate: Gate;
  readonly agent: 'absent' | 'live' | 'ending';
  /** The newest id of the agent's own session: what the next process resumes. */
  readonly claudeSessionId?: string;
  readonly consumed: readonly ConsumedCall[];
  /** Questions that came past our hook. */
  readonly hookMisses: number;
  /** Hooks that refused the newest calls, all in the same words. */
  readonly denials?: LaunchDenials | undefined;
  /** Taken by the agent, and not yet known to be in its conversation. */
  readonly taken?: readonly TakenLine[] | undefined;
  readonly policyTold: boolean;
  readonly questionToolMissing: boolean;
  /** Nothing is started: a checkpoint or shutdown was asked for. */
  readonly paused: boolean;
  /** The host's first commands after an attach have been seen. */
  readonly settled: boolean;
  readonly idle: boolean;
}

export interface TurnResult {
  readonly type: 'turn_result';
  readonly ok: boolean;
  readonly deferred?: { readonly toolCallId: string; readonly toolName: string };
  /** The turn went on after the defer. */
  readonly poisoned: boolean;
  /** The agent knows no session of that id. */
  readonly unknownSession: boolean;
  /** The parked call's tool does not exist any more. */
  readonly toolUnavailable: boolean;
  /** No turn was made: the CLI's report on a transcript it mended. */
  readonly empty: boolean;
}

export type SessionInput =
  | { readonly type: 'command'; readonly command: KnownHarnessCommand }
  | { readonly type: 'settled' }
  | { readonly type: 'initialized'; readonly claudeSessionId: string; readonly hasQuestionTool: boolean }
  | { readonly type: 'message_started'; readonly messageId: string }
  | { readonly type: 'message_stopped' }
  /** The agent begins a turn with a line of ours. */
  | { readonly type: 'line_taken'; readonly uuid: string }
  /** A line of the model's, streamed before or not. */
  | { readonly type: 'message_seen' }
  | {
      readonly type: 'call_seen';
      readonly messageId: string;
      readonly toolCallId: string;
      readonly toolName: string;
    }
  | {
      readonly type: 'call_result';
      readonly toolCallId: string;
      readonly isError: boolean;
      readonly text: string;
    }
  | TurnResult
  | {
      readonly type: 'hook_fired';
      readonly fireId: string;
      readonly toolCallId: string;
      readonly input: unknown;
    }
  | { readonly type: 'fire_lost'; readonly fireId: string }
  | {
      readonly type: 'permission_asked';
      readonly requestId: string;
      readonly toolCallId: string;
      readonly toolName: string;
      readonly isQuestion: boolean;
      readonly input: unknown;
      /** So long a question may be held open here. */
      readonly holdMs: number;
    }
  /** `clean`: it left by itself, with everything written. */
  | { readonly type: 'agent_exited'; readonly reason: string; readonly clean?: boolean }
  | { readonly type: 'timer'; readonly name: TimerName }
  | { readonly type: 'deferred_checked'; readonly found: boolean }
  | { readonly type: 'taken_checked'; readonly lines: readonly TakenLine[]; readonly lost: readonly TakenLine[] }
  | { readonly type: 'parked'; readonly resumable: boolean }
  | { readonly type: 'line_checked'; readonly trace: LineTrace }
  /** `trace`: of the call's result, which is that of its run. */
  | { readonly type: 'answer_checked'; readonly trace: LineTrace; readonly carries: boolean };

export type TimerName = 'hook_silent' | 'hold' | 'interrupt' | 'gate' | 'blocked';

export type SessionEffect =
  | { readonly type: 'emit'; readonly event: HarnessEvent }
  | { readonly type: 'start_agent'; readonly resume?: string }
  | { readonly type: 'end_agent' }
  | { readonly type: 'kill_agent' }
  | { readonly type: 'write_line'; readonly line: Line }
  | { readonly type: 'send_interrupt' }
  | { readonly type: 'reply'; readonly fire: Fire; readonly reply: HookReply }
  | { readonly type: 'allow_tool'; readonly requestId: string; readonly toolName: string }
  | { readonly type: 'check_deferred'; readonly call: ParkedCall }
  | { readonly type: 'check_marker'; readonly call: ParkedCall; readonly mend: boolean }
  | { readonly type: 'check_line'; readonly line: Line }
  | { readonly type: 'check_taken'; readonly lines: readonly TakenLine[] }
  | { readonly type: 'check_answer'; readonly call: ParkedCall; readonly verdict: Verdict }
  /** Without `ms`: the shell's own figure for this timer. */
  | { readonly type: 'set_timer'; readonly name: TimerName; readonly ms?: number }
  | { readonly type: 'clear_timer'; readonly name: TimerName }
  | { readonly type: 'acknowledged'; readonly storedSeq: number }
  | { readonly type: 'rehandshake' }
  | { readonly type: 'exit'; readonly graceSecs: number };

export interface SessionStep {
  readonly state: SessionState;
  readonly effects: readonly SessionEffect[];
}

export const NEW_SESSION: SessionState = {
  version: 1,
  question: NO_QUESTION,
  runs: NO_RUNS,
  gate: CLOSED_GATE,
  agent: 'absent',
  consumed: [],
  hookMisses: 0,
  policyTold: false,
  questionToolMissing: false,
  paused: false,
  settled: false,
  idle: false,
};

export function step(state: SessionState, input: SessionInput, runId: string): SessionStep {
  const draft = new SessionDraft(state, runId);
  apply(draft, input);
  draft.finish();
  return draft.step();
}

/** After a start of the harness: no agent process lives, nothing is attached yet. */
export function recover(saved: SessionState, runId: string): SessionStep {
  const draft = new SessionDraft(
    { ...saved, agent: 'absent', gate: CLOSED_GATE, paused: false, settled: false, idle: false },
    runId,
  );
  draft.dropTold();
  const { status } = draft.state.question;
  const inDoubt = status === 'deferring' || status === 'told';
  draft.useRuns(recoverRuns(draft.state.runs, inDoubt));
  draft.useQuestion(recoverQuestion(draft.state.question));
  checkTaken(draft);
  draft.finish();
  return draft.step();
}

function apply(draft: SessionDraft, input: SessionInput) {
  const { question, gate } = draft.state;
  switch (input.type) {
    case 'command':
      return applyCommand(draft, input.command);
    case 'settled':
      return draft.set({ settled: true });
    case 'initialized':
      draft.set({ claudeSessionId: input.claudeSessionId });
      return draft.noteQuestionTool(input.hasQuestionTool);
    case 'message_started':
      return messageStarted(draft, input.messageId);
    case 'message_seen':
      return draft.turnGoesOn('turn_shown');
    case 'line_taken':
      return lineTaken(draft, input.uuid);
    case 'message_stopped':
      draft.set({ gate: gateMessageStopped(gate) });
      return tryGate(draft);
    case 'call_seen':
      return callSeen(draft, input.messageId, input.toolCallId, callOrder(input.toolName));
    case 'call_result':
      draft.set({ gate: gateCallResult(gate, input.toolCallId) });
      callResult(draft, input.toolCallId, input.isError, input.text);
      return tryGate(draft);
    case 'turn_result':
      return turnResult(draft, input);
    case 'hook_fired': {
      const isParked = question.status !== 'none' && question.call.toolCallId === input.toolCallId;
      if (isParked) {
        return parkedFired(draft, input.toolCallId, { fireId: input.fireId, channel: 'hook' });
      }
      if (draft.isConsumed(input.toolCallId)) return draft.replyAgain(input.toolCallId, input.fireId);
      draft.set({ gate: gateFired(gate, input) });
      draft.push({ type: 'set_timer', name: 'gate' });
      draft.push({ type: 'set_timer', name: 'blocked' });
      return tryGate(draft);
    }
    case 'fire_lost':
      draft.set({ gate: gateFireLost(gate, input.fireId) });
      return draft.useQuestion(stepQuestion(question, input));
    case 'permission_asked':
      return permissionAsked(draft, input);
    case 'agent_exited':
      return agentExited(draft, input.reason, input.clean === true);
    case 'timer':
      return applyTimer(draft, input.name);
    case 'deferred_checked':
      return deferredChecked(draft, input.found);
    case 'parked':
      return draft.useQuestion(stepQuestion(question, input));
    case 'answer_checked':
      return draft.answerChecked(input.trace, input.carries);
    case 'taken_checked': {
      draft.set({ taken: withoutChecked(draft.state.taken, input.lines) });
      for (const line of input.lost) draft.emit(forgottenNotice(line));
      return;
    }
    case 'line_checked':
      return draft.useRuns(stepRun(draft.state.runs, { ...input, runId: draft.runId }));
    default:
      return assertNever(input);
  }
}

function applyTimer(draft: SessionDraft, name: TimerName) {
  const { question, runs, gate } = draft.state;
  switch (name) {
    case 'hook_silent': {
      // Its file tells whether it has the line; if not, the next agent gets it.
      if (runs.turn.status === 'sent' && runs.turn.line.type === 'verdict') return draft.endAgent();
      const silent =
        question.status === 'answering' || (question.status === 'attending' && question.fire === undefined);
      return silent && runs.turn.status === 'none'
        ? draft.useQuestion(stepQuestion(question, { type: 'resume_failed' }))
        : undefined;
    }
    case 'hold':
      return draft.useQuestion(stepQuestion(question, { type: 'hold_ended' }));
    case 'interrupt':
      return draft.useRuns(stepRun(runs, { type: 'interrupt_overdue' }));
    case 'blocked':
      draft.set({ gate: gateOverdue(gate) });
      return tryGate(draft);
    case 'gate':
      return draft.releaseGate('Your question could not be shown yet. Ask it again.');
    default:
      return assertNever(name);
  }
}

function applyCommand(draft: SessionDraft, command: KnownHarnessCommand) {
  const { question, runs } = draft.state;
  switch (command.type) {
    case 'prompt':
      return takePrompt(draft, command.prompt_id, command.text);
    case 'interrupt':
      if (runs.turn.status !== 'none') return draft.useRuns(stepRun(runs, command));
      return draft.useQuestion(stepQuestion(question, command));
    case 'edit_queued':
      return draft.useRuns(stepRun(runs, { type: 'edit', promptId: command.prompt_id, text: command.text }));
    case 'dequeue_queued':
      return draft.useRuns(stepRun(runs, { type: 'dequeue', promptId: command.prompt_id }));
    case 'answer_question':
      return takeAnswer(draft, command.tool_call_id, command.answers);
    case 'dismiss_question':
      return takeDismissal(draft, command.tool_call_id, command.reason);
    case 'attend_question': {
      const { tool_call_id: toolCallId, hold_ms: holdMs } = command;
      return draft.useQuestion(stepQuestion(question, { type: 'attend', toolCallId, holdMs }));
    }
    case 'reconcile':
      return reconcile(draft, command.open, command.closed);
    case 'acknowledge':
      return draft.push({ type: 'acknowledged', storedSeq: command.stored_seq });
    case 'rehandshake':
      return draft.push({ type: 'rehandshake' });
    case 'checkpoint':
      return draft.pause();
    case 'shutdown':
      draft.pause();
      return draft.push({ type: 'exit', graceSecs: command.grace_secs });
    default:
      return assertNever(command);
  }
}
