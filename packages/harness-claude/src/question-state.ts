// What a question can be, what can happen to it, and what follows: the values question-core works
// on. A parked call is any tool call that waits for a person; a question is the first kind.

import { type Answers, assertNever, type HarnessEvent, type Question } from '@engram/harness-proto';

/** A call that is parked, with all a later wake needs; stored, never rebuilt from memory. */
export interface ParkedCall {
  readonly toolCallId: string;
  /** The run that asked. */
  readonly runId: string;
  /** Every question of the card: this call's and those of the calls that were denied for it. */
  readonly questions: readonly Question[];
  readonly optionPreviews?: readonly (readonly string[])[];
  /** This call's tool input, as the hook got it; absent when we only know the call from the log. */
  readonly input?: unknown;
}

/** What the agent is owed about its question. */
export type Verdict =
  | { readonly type: 'answer'; readonly answers: Answers }
  /** The user wrote a prompt instead of an answer. */
  | { readonly type: 'superseded'; readonly promptId: string; readonly text: string }
  | { readonly type: 'denied'; readonly reason: string }
  /** Denied earlier without waking the agent; these are the user's next words. */
  | { readonly type: 'denied_then_prompt'; readonly reason: string; readonly promptId: string; readonly text: string };

/** By the hook of the resumed call, or as a message of the user when that way is known not to work. */
export type Route = 'resume' | 'message';

/** A hook (or its stand-in, a permission request) of the resumed call that waits for our reply. */
export interface Fire {
  readonly fireId: string;
  readonly channel: 'hook' | 'permission';
}

export type QuestionState =
  | { readonly status: 'none' }
  /** It came past our hook: held for a while in the running turn, where it cannot be parked. */
  | { readonly status: 'held'; readonly call: ParkedCall; readonly fire: Fire; readonly verdict?: Verdict }
  | { readonly status: 'deferring'; readonly call: ParkedCall; readonly poisoned: boolean }
  | {
      readonly status: 'parking';
      readonly call: ParkedCall;
      readonly route: Route;
      /** The transcript holds what the model said past its question; it must go before a resume. */
      readonly mend: boolean;
      readonly verdict?: Verdict;
      /** The card is closed without a wake: the denial stays owed. */
      readonly closedBy?: string;
    }
  | { readonly status: 'waiting'; readonly call: ParkedCall; readonly route: Route }
  | { readonly status: 'attending'; readonly call: ParkedCall; readonly fire?: Fire }
  | { readonly status: 'denial_owed'; readonly call: ParkedCall; readonly route: Route; readonly reason: string }
  | {
      readonly status: 'answering';
      readonly call: ParkedCall;
      readonly verdict: Verdict;
      readonly route: Route;
      /** Agent processes that ended without the proof. */
      readonly attempts: number;
      /** A process ended: its transcript may hold the proof that its stream did not bring. */
      readonly inDoubt: boolean;
      /** It was delivered once, and the process was lost with it: the log has it, in this open run. */
      readonly again?: OpenRun;
    }
  /** The stream showed the verdict as the call's result; the model has not said a word since. */
  | {
      readonly status: 'told';
      readonly call: ParkedCall;
      readonly verdict: Verdict;
      readonly runId: string;
      readonly attempts: number;
    };

/** A run that the log has as open while no process works on it. */
export interface OpenRun {
  readonly runId: string;
  /** The user wants it to stop. */
  readonly interrupted: boolean;
}

export type QuestionStatus = QuestionState['status'];

export type QuestionInput =
  /** The gate chose this call; its hook waits for the defer. */
  | { readonly type: 'gate_opened'; readonly call: ParkedCall; readonly fireId: string }
  /** A question that cannot be deferred waits for our reply. */
  | { readonly type: 'held'; readonly call: ParkedCall; readonly fire: Fire; readonly holdMs: number }
  /** The model went on although the call was deferred. */
  | { readonly type: 'narrated' }
  | {
      readonly type: 'turn_deferred';
      readonly toolCallId: string;
      readonly interrupted: boolean;
      readonly poisoned: boolean;
    }
  | { readonly type: 'turn_ended' }
  | { readonly type: 'parked'; readonly resumable: boolean }
  | { readonly type: 'fired'; readonly toolCallId: string; readonly fire: Fire }
  | { readonly type: 'fire_lost'; readonly fireId: string }
  /** `carries`: the result holds what we owed, not an error or a stand-in of the agent's own. */
  | { readonly type: 'call_result'; readonly toolCallId: string; readonly carries: boolean; readonly runId: string }
  /** The model began to speak: what was told before is in its conversation. */
  | { readonly type: 'heard' }
  /** The agent took the message that carries the verdict. */
  | { readonly type: 'message_taken'; readonly runId: string }
  | { readonly type: 'resume_failed' }
  | { readonly type: 'agent_exited' }
  /** `carries`: the transcript has a result of the call that holds what we owed. */
  | { readonly type: 'answer_checked'; readonly carries: boolean; readonly runId: string }
  | { readonly type: 'answer'; readonly toolCallId: string; readonly answers: Answers }
  | { readonly type: 'dismiss'; readonly toolCallId: string; readonly reason: string }
  | { readonly type: 'prompt'; readonly promptId: string; readonly text: string }
  | { readonly type: 'interrupt' }
  /** Nothing is started any more: what was delivered once is not delivered again now. */
  | { readonly type: 'set_aside' }
  | { readonly type: 'attend'; readonly toolCallId: string; readonly holdMs: number }
  | { readonly type: 'hold_ended' }
  | { readonly type: 'closed_elsewhere'; readonly toolCallId: string }
  | { readonly type: 'unknown_elsewhere' }
  /** The log has this question open and we never knew it: our files are older than the log. */
  | { readonly type: 'adopted'; readonly call: ParkedCall };

export type HookReply =
  | { readonly type: 'defer' }
  | { readonly type: 'deny'; readonly reason: string }
  | { readonly type: 'verdict'; readonly call: ParkedCall; readonly verdict: Verdict };

export type QuestionEffect =
  | { readonly type: 'reply'; readonly fire: Fire; readonly reply: HookReply }
  | { readonly type: 'emit'; readonly event: HarnessEvent }
  | { readonly type: 'end_agent' }
  /** The process is gone: is the call in the transcript as deferred? Reports `turn_deferred` or `turn_ended`. */
  | { readonly type: 'check_deferred'; readonly call: ParkedCall }
  /** The process is gone: see the resume marker, or write it; reports `parked`. */
  | { readonly type: 'check_marker'; readonly call: ParkedCall; readonly mend: boolean }
  /** The process is gone: does the transcript hold the verdict? Reports `answer_checked`. */
  | { readonly type: 'check_answer'; readonly call: ParkedCall; readonly verdict: Verdict }
  /** The verdict is in the conversation: a run is open that belongs to `promptId` when there is one. */
  | {
      readonly type: 'delivered';
      readonly call: ParkedCall;
      readonly verdict: Verdict;
      readonly runId: string;
      readonly again?: OpenRun;
    }
  /** The same within the run that asked. */
  | { readonly type: 'settled_in_run'; readonly call: ParkedCall; readonly verdict: Verdict }
  /** Another hook's decision beat our defer: the user was not asked. */
  | { readonly type: 'overruled'; readonly call: ParkedCall }
  | { readonly type: 'start_hold'; readonly holdMs: number }
  | { readonly type: 'give_up'; readonly call: ParkedCall; readonly again?: OpenRun };

export interface QuestionStep {
  readonly state: QuestionState;
  readonly effects: readonly QuestionEffect[];
}

export const NO_QUESTION: QuestionState = { status: 'none' };
export const ATTEMPTS_BY_RESUME = 3;
export const ATTEMPTS_IN_ALL = 6;
/** So long a released agent may take to end its turn. */
export const RELEASE_MS = 10_000;

/** The card of a parked call. */
export function toUserQuestion(call: ParkedCall): HarnessEvent {
  return {
    type: 'user_question',
    run_id: call.runId,
    tool_call_id: call.toolCallId,
    questions: call.questions,
    ...(call.optionPreviews ? { option_previews: call.optionPreviews } : {}),
  };
}

/** The call whose card is open, if one is. */
export function openCall(state: QuestionState): ParkedCall | undefined {
  switch (state.status) {
    case 'parking':
      return state.verdict || state.closedBy !== undefined ? undefined : state.call;
    case 'held':
      return state.verdict ? undefined : state.call;
    case 'waiting':
    case 'attending':
      return state.call;
    case 'none':
    case 'deferring':
    case 'denial_owed':
    case 'answering':
    case 'told':
      return undefined;
    default:
      return assertNever(state);
  }
}
