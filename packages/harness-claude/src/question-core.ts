// The life of a question, and of any parked call after it. Pure: state and input in, state and
// effects out; the shell saves the state before it performs the effects.
//
//   none ─gate_opened→ deferring ─turn_deferred→ parking ─parked→ waiting ⇄ attending
//                                                          │  verdict     │ verdict
//                                    denial_owed ←interrupt┤              ▼
//                                        └────verdict──────┴────────► answering ─delivered→ none
//
// Nothing leaves `answering` but `delivered`: it is the proof, taken from the agent's stream, that
// the verdict is in the conversation. A reply given to a hook is not that proof.

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
    };

export type QuestionStatus = QuestionState['status'];

export type QuestionInput =
  /** The gate chose this call; its hook waits for the defer. */
  | { readonly type: 'gate_opened'; readonly call: ParkedCall; readonly fireId: string }
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
  | { readonly type: 'delivered'; readonly call: ParkedCall; readonly verdict: Verdict; readonly runId: string }
  | { readonly type: 'start_hold'; readonly holdMs: number }
  | { readonly type: 'give_up'; readonly call: ParkedCall };

export interface QuestionStep {
  readonly state: QuestionState;
  readonly effects: readonly QuestionEffect[];
}

export const NO_QUESTION: QuestionState = { status: 'none' };
export const ATTEMPTS_BY_RESUME = 3;
export const ATTEMPTS_IN_ALL = 6;
/** So long a released agent may take to end its turn. */
const RELEASE_MS = 10_000;

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
    case 'waiting':
    case 'attending':
      return state.call;
    case 'none':
    case 'deferring':
    case 'denial_owed':
    case 'answering':
      return undefined;
    default:
      return assertNever(state);
  }
}

const END_AGENT: QuestionEffect = { type: 'end_agent' };
const stay = (state: QuestionState): QuestionStep => ({ state, effects: [] });
const go = (state: QuestionState, ...effects: QuestionEffect[]): QuestionStep => ({ state, effects });

function rule(state: QuestionState & { call: ParkedCall; route?: Route }, verdict: Verdict): QuestionStep {
  return go({
    status: 'answering',
    call: state.call,
    verdict,
    route: state.route ?? 'resume',
    attempts: 0,
    inDoubt: false,
  });
}

/** What a command decides about the parked call; undefined when the input is none of these or for another call. */
function toVerdict(input: QuestionInput, call: ParkedCall): Verdict | undefined {
  if (input.type === 'answer' && input.toolCallId === call.toolCallId)
    return { type: 'answer', answers: input.answers };
  if (input.type === 'prompt') return { type: 'superseded', promptId: input.promptId, text: input.text };
  if (input.type === 'dismiss' && input.toolCallId === call.toolCallId && input.reason !== 'interrupted') {
    return { type: 'denied', reason: input.reason };
  }
  return undefined;
}

/** Closed without a wake: the denial stays owed. */
function toClosing(input: QuestionInput, call: ParkedCall): string | undefined {
  if (input.type === 'interrupt') return 'interrupted';
  if (input.type === 'dismiss' && input.toolCallId === call.toolCallId) return input.reason;
  if (input.type === 'closed_elsewhere' && input.toolCallId === call.toolCallId) return 'withdrawn';
  return undefined;
}

export function stepQuestion(state: QuestionState, input: QuestionInput): QuestionStep {
  switch (state.status) {
    case 'none':
      return stepNone(state, input);
    case 'deferring':
      return stepDeferring(state, input);
    case 'parking':
      return stepParking(state, input);
    case 'waiting':
      return stepWaiting(state, input);
    case 'attending':
      return stepAttending(state, input);
    case 'denial_owed':
      return stepDenialOwed(state, input);
    case 'answering':
      return stepAnswering(state, input);
    default:
      return assertNever(state);
  }
}

type In<S extends QuestionStatus> = Extract<QuestionState, { status: S }>;

function stepNone(state: In<'none'>, input: QuestionInput): QuestionStep {
  if (input.type === 'adopted') {
    const parking: QuestionState = { status: 'parking', call: input.call, route: 'resume', mend: false };
    return go(parking, { type: 'check_marker', call: input.call, mend: false });
  }
  if (input.type !== 'gate_opened') return stay(state);
  return go(
    { status: 'deferring', call: input.call, poisoned: false },
    { type: 'reply', fire: { fireId: input.fireId, channel: 'hook' }, reply: { type: 'defer' } },
  );
}

function stepDeferring(state: In<'deferring'>, input: QuestionInput): QuestionStep {
  switch (input.type) {
    case 'narrated':
      return stay({ ...state, poisoned: true });
    case 'gate_opened':
      // One open question at most: the model asks again while its first question is being parked.
      return go(state, {
        type: 'reply',
        fire: { fireId: input.fireId, channel: 'hook' },
        reply: { type: 'deny', reason: 'Your earlier question is still open. Wait for its answer.' },
      });
    case 'turn_deferred': {
      if (input.toolCallId !== state.call.toolCallId) return stay(NO_QUESTION);
      const poisoned = state.poisoned || input.poisoned;
      const parking: QuestionState = { status: 'parking', call: state.call, route: 'resume', mend: poisoned };
      if (input.interrupted) return go({ ...parking, closedBy: 'interrupted' }, END_AGENT);
      return go(parking, { type: 'emit', event: toUserQuestion(state.call) }, END_AGENT);
    }
    case 'call_result':
      // Another hook overruled ours: the call was answered without us and is no question any more.
      return input.toolCallId === state.call.toolCallId && !state.poisoned ? stay(NO_QUESTION) : stay(state);
    case 'turn_ended':
      return stay(NO_QUESTION);
    case 'agent_exited':
      return go(state, { type: 'check_deferred', call: state.call });
    default:
      return stay(state);
  }
}

function stepParking(state: In<'parking'>, input: QuestionInput): QuestionStep {
  if (input.type === 'parked') {
    const { call, verdict, closedBy } = state;
    const route: Route = input.resumable ? state.route : 'message';
    if (verdict) return go({ status: 'answering', call, verdict, route, attempts: 0, inDoubt: false });
    if (closedBy !== undefined) return go({ status: 'denial_owed', call, route, reason: closedBy });
    return go({ status: 'waiting', call, route });
  }
  // Deferred again; or the agent did not say so in time, which the marker decides.
  if (input.type === 'turn_deferred' || input.type === 'hold_ended') return go(state, END_AGENT);
  if (input.type === 'agent_exited') return go(state, { type: 'check_marker', call: state.call, mend: state.mend });
  // First stored wins: what was decided while the process ends stays decided.
  if (state.verdict) return stay(state);
  if (input.type === 'unknown_elsewhere' && state.closedBy === undefined) {
    return go(state, { type: 'emit', event: toUserQuestion(state.call) });
  }
  const verdict = toVerdict(input, state.call);
  if (verdict)
    return stay({ ...state, verdict: state.closedBy === undefined ? verdict : afterClosing(state.closedBy, verdict) });
  const closedBy = toClosing(input, state.call);
  return closedBy === undefined || state.closedBy !== undefined ? stay(state) : stay({ ...state, closedBy });
}

function stepWaiting(state: In<'waiting'>, input: QuestionInput): QuestionStep {
  const verdict = toVerdict(input, state.call);
  if (verdict) return rule(state, verdict);
  const closing = toClosing(input, state.call);
  if (closing !== undefined) {
    return stay({ status: 'denial_owed', call: state.call, route: state.route, reason: closing });
  }
  switch (input.type) {
    case 'attend':
      if (input.toolCallId !== state.call.toolCallId || input.holdMs === 0 || state.route === 'message')
        return stay(state);
      return go({ status: 'attending', call: state.call }, { type: 'start_hold', holdMs: input.holdMs });
    case 'unknown_elsewhere':
      return go(state, { type: 'emit', event: toUserQuestion(state.call) });
    default:
      return stay(state);
  }
}

function stepAttending(state: In<'attending'>, input: QuestionInput): QuestionStep {
  const { call, fire } = state;
  const verdict = toVerdict(input, call);
  if (verdict) {
    const { state: next } = rule({ ...state, route: 'resume' }, verdict);
    return fire ? go(next, { type: 'reply', fire, reply: { type: 'verdict', call, verdict } }) : go(next);
  }
  const closing = toClosing(input, call);
  const release = (to: In<'parking'>): QuestionStep => {
    // The held hook defers again; the turn's result then ends the agent. Without one there is no result to wait for.
    if (!fire) return go(to, END_AGENT);
    return go(to, { type: 'reply', fire, reply: { type: 'defer' } }, { type: 'start_hold', holdMs: RELEASE_MS });
  };
  if (closing !== undefined)
    return release({ status: 'parking', call, route: 'resume', mend: false, closedBy: closing });
  switch (input.type) {
    case 'fired':
      return input.toolCallId === call.toolCallId ? stay({ ...state, fire: input.fire }) : stay(state);
    case 'fire_lost':
      return fire?.fireId === input.fireId ? stay({ status: 'attending', call }) : stay(state);
    case 'attend':
      if (input.toolCallId !== call.toolCallId) return stay(state);
      if (input.holdMs > 0) return go(state, { type: 'start_hold', holdMs: input.holdMs });
      return release({ status: 'parking', call, route: 'resume', mend: false });
    case 'hold_ended':
      return release({ status: 'parking', call, route: 'resume', mend: false });
    case 'resume_failed':
      return go({ status: 'parking', call, route: 'message', mend: false }, END_AGENT);
    case 'agent_exited':
      return go({ status: 'waiting', call, route: 'resume' });
    case 'unknown_elsewhere':
      return go(state, { type: 'emit', event: toUserQuestion(call) });
    default:
      return stay(state);
  }
}

/** A verdict for a card that was closed before: words of the user travel with the denial that is owed. */
function afterClosing(reason: string, verdict: Verdict): Verdict {
  if (verdict.type !== 'superseded' || reason !== 'interrupted') return verdict;
  return { type: 'denied_then_prompt', reason, promptId: verdict.promptId, text: verdict.text };
}

function stepDenialOwed(state: In<'denial_owed'>, input: QuestionInput): QuestionStep {
  const verdict = toVerdict(input, state.call);
  if (verdict) return rule(state, afterClosing(state.reason, verdict));
  // The reason may come after the news that the card is closed.
  const reason = toClosing(input, state.call);
  return reason === undefined || reason === 'withdrawn' ? stay(state) : stay({ ...state, reason });
}

function stepAnswering(state: In<'answering'>, input: QuestionInput): QuestionStep {
  const { call, verdict } = state;
  const delivered = (runId: string): QuestionStep => go(NO_QUESTION, { type: 'delivered', call, verdict, runId });
  switch (input.type) {
    case 'fired':
      if (input.toolCallId !== call.toolCallId) return stay(state);
      // Late, but alive: while the message is not on its way the hook may still carry the verdict.
      if (state.route === 'message') {
        const reason = 'The reply to this question follows in the next message of the user.';
        return go(state, { type: 'reply', fire: input.fire, reply: { type: 'deny', reason } });
      }
      return go(state, { type: 'reply', fire: input.fire, reply: { type: 'verdict', call, verdict } });
    case 'call_result':
      if (input.toolCallId !== call.toolCallId || state.route === 'message') return stay(state);
      return input.carries ? delivered(input.runId) : stay({ ...state, route: 'message' });
    case 'message_taken':
      return state.route === 'message' ? delivered(input.runId) : stay(state);
    case 'narrated':
    case 'resume_failed':
      return stay({ ...state, route: 'message' });
    case 'agent_exited': {
      const attempts = state.attempts + 1;
      const route: Route = attempts >= ATTEMPTS_BY_RESUME ? 'message' : state.route;
      const next: In<'answering'> = { ...state, attempts, route };
      const gaveUp: QuestionEffect[] = attempts === ATTEMPTS_IN_ALL ? [{ type: 'give_up', call }] : [];
      // By message the line's own trace is looked for: see run-core.
      if (state.route === 'message') return go(next, ...gaveUp);
      return go({ ...next, inDoubt: true }, { type: 'check_answer', call, verdict }, ...gaveUp);
    }
    case 'answer_checked':
      if (!state.inDoubt) return stay(state);
      return input.carries ? delivered(input.runId) : stay({ ...state, inDoubt: false });
    case 'answer':
      // Redelivered: a new chance after we gave up, never a second answer.
      return input.toolCallId === call.toolCallId ? stay({ ...state, attempts: 0 }) : stay(state);
    default:
      return stay(state);
  }
}

/** After a crash: the agent process is gone, what was decided stays. */
export function recoverQuestion(state: QuestionState): QuestionStep {
  switch (state.status) {
    case 'none':
    case 'waiting':
    case 'denial_owed':
      return stay(state);
    case 'answering': {
      const { call, verdict } = state;
      if (state.route === 'message') return stay(state);
      return go({ ...state, inDoubt: true }, { type: 'check_answer', call, verdict });
    }
    case 'deferring':
      return go(state, { type: 'check_deferred', call: state.call });
    case 'parking':
      return go(state, { type: 'check_marker', call: state.call, mend: state.mend });
    case 'attending':
      return stay({ status: 'waiting', call: state.call, route: 'resume' });
    default:
      return assertNever(state);
  }
}
