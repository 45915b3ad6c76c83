// The life of a question, and of any parked call after it. Pure: state and input in, state and
// effects out; the shell saves the state before it performs the effects.
//
//   none ─held→ held ─(result, hold_ended)→ none, when our hook was passed by
//   none ─gate_opened→ deferring ─turn_deferred→ parking ─parked→ waiting ⇄ attending
//                                                          │  verdict     │ verdict
//                                    denial_owed ←interrupt┤              ▼
//                                        └────verdict──────┴────────► answering ─delivered→ told ─heard→ none
//                                                                         └─lost with its process──┘
//
// Nothing leaves `answering` but `delivered`: it is the proof, taken from the agent's stream, that
// the verdict is in the conversation. A reply given to a hook is not that proof. A process killed
// before the model went on may not have written it down: until then the verdict is only `told`.

import { assertNever } from '@engram/harness-proto';
import {
  NO_QUESTION,
  type ParkedCall,
  type QuestionEffect,
  type QuestionInput,
  type QuestionState,
  type QuestionStatus,
  type QuestionStep,
  RELEASE_MS,
  type Route,
  toUserQuestion,
  type Verdict,
} from './question-state.js';
import { stepAnswering, stepTold } from './verdict-delivery.js';
import { afterClosing, toClosing, toVerdict } from './verdict-of-input.js';

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

export function stepQuestion(state: QuestionState, input: QuestionInput): QuestionStep {
  // One open question at most: the model asks again while its first question is not over.
  if (input.type === 'gate_opened' && state.status !== 'none') return go(state, denyAnother(input.fireId));
  switch (state.status) {
    case 'none':
      return stepNone(state, input);
    case 'held':
      return stepHeld(state, input);
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
    case 'told':
      return stepTold(state, input);
    default:
      return assertNever(state);
  }
}

function denyAnother(fireId: string): QuestionEffect {
  const reason = 'Your earlier question is still open. Wait for its answer.';
  return { type: 'reply', fire: { fireId, channel: 'hook' }, reply: { type: 'deny', reason } };
}

type In<S extends QuestionStatus> = Extract<QuestionState, { status: S }>;

function stepNone(state: In<'none'>, input: QuestionInput): QuestionStep {
  if (input.type === 'adopted') {
    const parking: QuestionState = { status: 'parking', call: input.call, route: 'resume', mend: false };
    return go(parking, { type: 'check_marker', call: input.call, mend: false });
  }
  if (input.type === 'held') {
    const { call, fire, holdMs } = input;
    const card: QuestionEffect = { type: 'emit', event: toUserQuestion(call) };
    return go({ status: 'held', call, fire }, card, { type: 'start_hold', holdMs });
  }
  if (input.type !== 'gate_opened') return stay(state);
  return go(
    { status: 'deferring', call: input.call, poisoned: false },
    { type: 'reply', fire: { fireId: input.fireId, channel: 'hook' }, reply: { type: 'defer' } },
  );
}

const WITHDRAWN: Verdict = { type: 'denied', reason: 'withdrawn' };

function stepHeld(state: In<'held'>, input: QuestionInput): QuestionStep {
  const { call, fire, verdict } = state;
  const withdraw: QuestionEffect = { type: 'settled_in_run', call, verdict: WITHDRAWN };
  switch (input.type) {
    case 'answer':
    case 'dismiss': {
      const given = input.type === 'answer' ? toVerdict(input, call) : toDenial(input, call);
      if (verdict || !given) return stay(state);
      return go(
        { ...state, verdict: given },
        { type: 'reply', fire, reply: { type: 'verdict', call, verdict: given } },
      );
    }
    case 'hold_ended': {
      if (verdict) return stay(state);
      const reason = 'The question could not be kept open. Ask it again.';
      return go(NO_QUESTION, { type: 'reply', fire, reply: { type: 'deny', reason } }, withdraw);
    }
    case 'call_result':
      if (input.toolCallId !== call.toolCallId) return stay(state);
      if (!verdict) return go(NO_QUESTION, withdraw);
      if (input.carries) return go(NO_QUESTION, { type: 'settled_in_run', call, verdict });
      return stay({ status: 'answering', call, verdict, route: 'message', attempts: 0, inDoubt: false });
    case 'turn_ended':
    case 'turn_deferred':
    case 'agent_exited':
      return endHeld(state);
    default:
      return stay(state);
  }
}

/** The turn is over without a result of the call: what was decided is still owed. */
function endHeld({ call, verdict }: In<'held'>): QuestionStep {
  if (!verdict) return go(NO_QUESTION, { type: 'settled_in_run', call, verdict: WITHDRAWN });
  const owed: QuestionState = { status: 'answering', call, verdict, route: 'resume', attempts: 0, inDoubt: true };
  return go(owed, { type: 'check_answer', call, verdict });
}

function toDenial(input: Extract<QuestionInput, { type: 'dismiss' }>, call: ParkedCall): Verdict | undefined {
  return input.toolCallId === call.toolCallId ? { type: 'denied', reason: input.reason } : undefined;
}

function stepDeferring(state: In<'deferring'>, input: QuestionInput): QuestionStep {
  switch (input.type) {
    case 'narrated':
      return stay({ ...state, poisoned: true });
    case 'turn_deferred': {
      if (input.toolCallId !== state.call.toolCallId) return stay(NO_QUESTION);
      const poisoned = state.poisoned || input.poisoned;
      const parking: QuestionState = { status: 'parking', call: state.call, route: 'resume', mend: poisoned };
      if (input.interrupted) return go({ ...parking, closedBy: 'interrupted' }, END_AGENT);
      return go(parking, { type: 'emit', event: toUserQuestion(state.call) }, END_AGENT);
    }
    case 'call_result':
      // Another hook overruled ours: the call was answered without us and is no question any more.
      if (input.toolCallId !== state.call.toolCallId || state.poisoned) return stay(state);
      return go(NO_QUESTION, { type: 'overruled', call: state.call });
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
  // The process had something else to do before it ended: what it said past the question must go.
  if (input.type === 'narrated') return stay({ ...state, mend: true });
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

function stepDenialOwed(state: In<'denial_owed'>, input: QuestionInput): QuestionStep {
  const verdict = toVerdict(input, state.call);
  if (verdict) return rule(state, afterClosing(state.reason, verdict));
  // The reason may come after the news that the card is closed.
  const reason = toClosing(input, state.call);
  return reason === undefined || reason === 'withdrawn' ? stay(state) : stay({ ...state, reason });
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
    case 'told':
      return go(state, { type: 'check_answer', call: state.call, verdict: state.verdict });
    case 'held':
      return endHeld(state);
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
