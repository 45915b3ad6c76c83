// The life of one session on this host, as a pure function: a state and an input give the next
// state and the effects to perform.
//
//   preparing → starting ⇄ attached → ending → resting → ended
//                  ↑  ↓ harness died      ↑        ↓ work arrived meanwhile: starting
//              backing_off → failing → ended
//   any state, lease lost or session deleted → dropping → ended
//
// The lease is given up in exactly three ways: rested (idle), failed, or let go because it is
// already somebody else's (nothing is written then).

import { assertNever, type HarnessCommand, type HarnessEvent } from '@engram/harness-proto';
import {
  afterCommand,
  afterEvent,
  givenUpAnswers,
  type IdlePolicy,
  isHoldable,
  type SessionFacts,
  sleepDueAt,
  withHold,
} from './idle-rule.js';

export interface RunnerPolicy extends IdlePolicy {
  /** A harness that was given the session must attach within this time. */
  readonly attachMs: number;
  /** Given to the harness to end its agent; the process is killed `killAfterMs` after the shutdown was sent. */
  readonly graceSecs: number;
  readonly killAfterMs: number;
  /** Waits before the harness is started again; when all are used the session has failed. */
  readonly backOffMs: readonly number[];
  /** A harness that lived this long counts as a good start. */
  readonly stableMs: number;
}

interface Common {
  readonly facts: SessionFacts;
  /** Starts without a completed run or a long quiet life since. */
  readonly tries: number;
  readonly startedAt: number;
  /** The host is going away: rest, and do not go on when work is waiting. */
  readonly closing: boolean;
}

export type RunnerState =
  | (Common & { readonly status: 'preparing' })
  | (Common & { readonly status: 'starting'; readonly killAt?: number })
  | (Common & { readonly status: 'attached' })
  | (Common & { readonly status: 'backing_off'; readonly until: number })
  | (Common & { readonly status: 'ending'; readonly killAt?: number })
  | (Common & { readonly status: 'resting' })
  | (Common & { readonly status: 'failing' })
  | (Common & { readonly status: 'dropping'; readonly why: DropReason })
  | (Common & { readonly status: 'ended'; readonly outcome: Outcome });

export type DropReason = 'lease_lost' | 'deleted';
export type Outcome = 'idle' | 'failed' | 'lease_lost' | 'deleted' | 'work_left';

export interface Wishes {
  readonly attend?: { readonly tool_call_id: string; readonly remainingMs: number };
  readonly sleep: boolean;
  readonly deleted: boolean;
}

export type RunnerInput =
  | { readonly type: 'prepared' }
  | { readonly type: 'prepare_failed'; readonly code: string; readonly message: string }
  | { readonly type: 'attached' }
  /** After an attach: what the log holds was sent. */
  | { readonly type: 'briefed' }
  | { readonly type: 'link_lost' }
  /** What it sends cannot be read, again and again. */
  | { readonly type: 'harness_broken' }
  | { readonly type: 'harness_exited' }
  | { readonly type: 'events_stored'; readonly events: readonly HarnessEvent[] }
  | { readonly type: 'command_sent'; readonly command: HarnessCommand }
  | { readonly type: 'wishes'; readonly wishes: Wishes }
  | { readonly type: 'timer' }
  | { readonly type: 'drain' }
  | { readonly type: 'make_room' }
  | { readonly type: 'close' }
  | { readonly type: 'lease_lost' }
  | { readonly type: 'rested' }
  | { readonly type: 'work_waiting' }
  | { readonly type: 'failure_stored' }
  /** The lease was found to be somebody else's when it was given up. */
  | { readonly type: 'release_refused' }
  | { readonly type: 'let_go' };

export type RunnerEffect =
  | { readonly type: 'start_harness' }
  /** Stores `evicting`, then orders the harness to end. */
  | { readonly type: 'evict' }
  | { readonly type: 'send_shutdown' }
  | { readonly type: 'kill_harness' }
  /** The harness came to rest and did not deliver these: they are visibly failed, not lost. */
  | { readonly type: 'fail_answers'; readonly toolCallIds: readonly string[] }
  /** A run ended and its agent is quiet: its files may be stored meanwhile. */
  | { readonly type: 'checkpoint' }
  /** Stop the sandbox, store its files, release the lease as idle. */
  | { readonly type: 'rest' }
  /** Store the error, release the lease as failed. */
  | { readonly type: 'fail'; readonly code: string; readonly message: string }
  /** End every process of the session and write nothing to the log. */
  | { readonly type: 'let_go'; readonly why: DropReason };

export interface RunnerStep {
  readonly state: RunnerState;
  readonly effects: readonly RunnerEffect[];
}

export function createRunnerState(facts: SessionFacts): RunnerState {
  return { status: 'preparing', facts, tries: 0, startedAt: facts.quietSince, closing: false };
}

/** When `timer` must be fed next; undefined when nothing is timed. */
export function nextTimerAt(state: RunnerState, policy: RunnerPolicy): number | undefined {
  switch (state.status) {
    case 'attached':
      return sleepDueAt(state.facts, policy);
    case 'starting':
    case 'ending':
      return state.killAt;
    case 'backing_off':
      return state.until;
    case 'preparing':
    case 'resting':
    case 'failing':
    case 'dropping':
    case 'ended':
      return undefined;
    default:
      return assertNever(state);
  }
}

export function stepRunner(state: RunnerState, input: RunnerInput, now: number, policy: RunnerPolicy): RunnerStep {
  if (state.status === 'ended') return stay(state);
  switch (input.type) {
    case 'prepared':
      if (state.status !== 'preparing') return stay(state);
      return state.closing ? rest(state) : start(state, now, policy);
    case 'prepare_failed':
      if (state.status !== 'preparing') return stay(state);
      return state.closing ? rest(state) : fail(state, input.code, input.message);
    case 'attached':
      if (state.status === 'starting') {
        const facts = { ...state.facts, briefed: false, quietSince: now };
        return stay({ ...common(state), facts, status: 'attached' });
      }
      return state.status === 'ending' ? { state, effects: [{ type: 'send_shutdown' }] } : stay(state);
    case 'briefed':
      return due({ ...state, facts: { ...state.facts, briefed: true } }, now, policy);
    case 'link_lost':
      if (state.status !== 'attached') return stay(state);
      return stay({ ...common(state), status: 'starting', killAt: now + policy.attachMs });
    case 'harness_broken':
      return state.status === 'starting' || state.status === 'attached'
        ? { state, effects: [{ type: 'kill_harness' }] }
        : stay(state);
    case 'harness_exited':
      if (state.status === 'ending') return rest(state);
      if (state.status === 'starting' || state.status === 'attached') {
        const tries = now - state.startedAt >= policy.stableMs ? 0 : state.tries;
        return startAgain({ ...state, tries }, now, policy, 'harness_lost');
      }
      return stay(state);
    case 'events_stored': {
      const facts = input.events.reduce((known, event) => afterEvent(known, event, now), state.facts);
      const tries = input.events.some((event) => event.type === 'run_completed') ? 0 : state.tries;
      const step = due(
        { ...state, facts: { ...facts, unsaved: facts.unsaved && !facts.harnessIdle }, tries },
        now,
        policy,
      );
      const quiet = facts.unsaved && facts.harnessIdle && step.state.status === 'attached';
      return quiet ? { ...step, effects: [{ type: 'checkpoint' }, ...step.effects] } : step;
    }
    case 'command_sent':
      return due({ ...state, facts: afterCommand(state.facts, input.command, now) }, now, policy);
    case 'wishes':
      return wish(state, input.wishes, now, policy);
    case 'timer':
      return timer(state, now, policy);
    case 'drain':
      return due({ ...state, facts: { ...state.facts, draining: true } }, now, policy);
    case 'make_room':
      return canMakeRoom(state) ? evict(state, now, policy) : stay(state);
    case 'close':
      return close({ ...state, closing: true }, now, policy);
    case 'lease_lost':
      // A renewal that crosses our own release reports the lease as lost; the release knows better.
      return state.status === 'resting' || state.status === 'failing' ? stay(state) : drop(state, 'lease_lost');
    case 'rested':
      return state.status === 'resting' ? ended(state, 'idle') : stay(state);
    case 'work_waiting':
      if (state.status !== 'resting') return stay(state);
      return state.closing ? ended(state, 'work_left') : startAgain(state, now, policy, 'no_progress');
    case 'failure_stored':
      return state.status === 'failing' ? ended(state, 'failed') : stay(state);
    case 'release_refused':
      return state.status === 'resting' || state.status === 'failing' ? ended(state, 'lease_lost') : stay(state);
    case 'let_go':
      return state.status === 'dropping' ? ended(state, state.why) : stay(state);
    default:
      return assertNever(input);
  }
}

/** A session without a run that only waits for its soft time-out may give its slot to another. */
export function canMakeRoom(state: RunnerState): boolean {
  const { facts } = state;
  return (
    state.status === 'attached' &&
    facts.harnessIdle &&
    facts.unproven.size === 0 &&
    facts.hold === undefined &&
    facts.backgroundSince === undefined
  );
}

function wish(state: RunnerState, wishes: Wishes, now: number, policy: RunnerPolicy): RunnerStep {
  if (wishes.deleted) return drop(state, 'deleted');
  const { attend } = wishes;
  const hold =
    attend === undefined || attend.remainingMs <= 0 || !isHoldable(state.facts, attend.tool_call_id)
      ? undefined
      : { toolCallId: attend.tool_call_id, until: now + attend.remainingMs };
  const renewed = hold !== undefined && !(state.facts.hold !== undefined && state.facts.hold.until >= hold.until);
  const facts =
    hold === undefined ? withHold(state.facts, undefined) : renewed ? withHold(state.facts, hold) : state.facts;
  return due({ ...state, facts: { ...facts, sleepAsked: wishes.sleep } }, now, policy);
}

function timer(state: RunnerState, now: number, policy: RunnerPolicy): RunnerStep {
  const at = nextTimerAt(state, policy);
  if (at === undefined || at > now) return stay(state);
  if (state.status === 'backing_off') return start(state, now, policy);
  if (state.status === 'starting') {
    return { state: { ...common(state), status: 'starting' }, effects: [{ type: 'kill_harness' }] };
  }
  if (state.status === 'ending') {
    return { state: { ...common(state), status: 'ending' }, effects: [{ type: 'kill_harness' }] };
  }
  return due(state, now, policy);
}

function close(state: RunnerState, now: number, policy: RunnerPolicy): RunnerStep {
  if (state.status === 'attached') return evict(state, now, policy);
  if (state.status === 'backing_off') return rest(state);
  if (state.status === 'starting') {
    return stay({ ...common(state), status: 'ending', killAt: now + policy.killAfterMs });
  }
  return stay(state);
}

/** Goes to sleep when the idle rule says that the time has come. */
function due(state: RunnerState, now: number, policy: RunnerPolicy): RunnerStep {
  if (state.status !== 'attached') return stay(state);
  const at = sleepDueAt(state.facts, policy);
  if (at === undefined || at > now) return stay(state);
  const toolCallIds = givenUpAnswers(state.facts);
  const step = evict(state, now, policy);
  return toolCallIds.length === 0
    ? step
    : { ...step, effects: [{ type: 'fail_answers', toolCallIds }, ...step.effects] };
}

function evict(state: RunnerState, now: number, policy: RunnerPolicy): RunnerStep {
  return {
    state: { ...common(state), status: 'ending', killAt: now + policy.killAfterMs },
    effects: [{ type: 'evict' }],
  };
}

function start(state: RunnerState, now: number, policy: RunnerPolicy): RunnerStep {
  // What the last harness was told is unknown to the next one; it hears everything again.
  const { backgroundSince: _ended, ...known } = state.facts;
  const facts = { ...known, unproven: new Set<string>(), harnessIdle: false, sleepAsked: false, quietSince: now };
  return {
    state: { ...common(state), facts, startedAt: now, status: 'starting', killAt: now + policy.attachMs },
    effects: [{ type: 'start_harness' }],
  };
}

function startAgain(
  state: RunnerState,
  now: number,
  policy: RunnerPolicy,
  cause: 'harness_lost' | 'no_progress',
): RunnerStep {
  if (state.closing) return rest(state);
  const wait = policy.backOffMs[state.tries];
  if (wait === undefined) return fail(state, cause, giveUpMessage(cause, state.tries + 1));
  const next = { ...state, tries: state.tries + 1 };
  return wait === 0 ? start(next, now, policy) : stay({ ...common(next), status: 'backing_off', until: now + wait });
}

function giveUpMessage(cause: 'harness_lost' | 'no_progress', count: number): string {
  const tryAgain = "Send a prompt to try again; the host's log says more.";
  return cause === 'harness_lost'
    ? `The process that drives the agent ended ${count} times without completing a run. ${tryAgain}`
    : `The agent was woken ${count} times and did not take the work that waits for it. ${tryAgain}`;
}

function rest(state: RunnerState): RunnerStep {
  return { state: { ...common(state), status: 'resting' }, effects: [{ type: 'rest' }] };
}

function fail(state: RunnerState, code: string, message: string): RunnerStep {
  return { state: { ...common(state), status: 'failing' }, effects: [{ type: 'fail', code, message }] };
}

function drop(state: RunnerState, why: DropReason): RunnerStep {
  if (state.status === 'dropping') return stay(state);
  return { state: { ...common(state), status: 'dropping', why }, effects: [{ type: 'let_go', why }] };
}

function ended(state: RunnerState, outcome: Outcome): RunnerStep {
  return stay({ ...common(state), status: 'ended', outcome });
}

function stay(state: RunnerState): RunnerStep {
  return { state, effects: [] };
}

function common(state: RunnerState): Common {
  return { facts: state.facts, tries: state.tries, startedAt: state.startedAt, closing: state.closing };
}
