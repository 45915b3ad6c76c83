// Whose turn does the agent make: that of the line we gave it, or one of its own? Pure. A resumed
// agent may take up an old call first, a living one the end of a background task. What tells them
// apart is the agent's echo of our line (ADR 0010): it comes before the first whole block of the
// line's turn, on some versions before its first word, on others only then.
//
//   sent ─turn_began→ sent, opening ─line_taken→ running
//                          └─turn_shown→ running, the line behind ─turn_over→ sent

import { assertNever, type HarnessEvent } from '@engram/harness-proto';
import { summarizePrompt } from './prompt-line.js';
import {
  type CutRun,
  type Line,
  type QueuedPrompt,
  type RunEffect,
  type RunState,
  type RunStep,
  STARTED_KEPT,
  type Turn,
  type TurnOutcome,
} from './run-state.js';

type Sent = Extract<Turn, { status: 'sent' }>;
type Running = Extract<Turn, { status: 'running' }>;

const INTERRUPT: RunEffect = { type: 'send_interrupt' };
export const emit = (event: HarnessEvent): RunEffect => ({ type: 'emit', event });

export function toRunEnd(runId: string, outcome: TurnOutcome): HarnessEvent {
  if (outcome === 'interrupted') return { type: 'run_interrupted', run_id: runId };
  return { type: 'run_completed', run_id: runId, ok: outcome === 'ok' };
}

export function remember(state: RunState, promptId: string, runId: string): RunState {
  return { ...state, started: [...state.started, { promptId, runId }].slice(-STARTED_KEPT) };
}

/** Opens the run of a prompt, or of a turn that nobody asked for. */
export function begin(
  state: RunState,
  runId: string,
  prompt: QueuedPrompt | undefined,
  more: { readonly interrupting?: boolean; readonly behind?: Line } = {},
): RunStep {
  const { interrupting = false, behind } = more;
  const started: HarnessEvent = {
    type: 'run_started',
    run_id: runId,
    ...(prompt ? { prompt_summary: summarizePrompt(prompt.text), prompt_id: prompt.promptId } : {}),
  };
  const turn: Turn = {
    status: 'running',
    runId,
    ...(prompt ? { promptId: prompt.promptId } : {}),
    interrupting,
    ...(behind ? { behind } : {}),
  };
  return {
    state: prompt ? remember({ ...state, turn }, prompt.promptId, runId) : { ...state, turn },
    effects: [emit(started)],
  };
}

/** A message of the model's begins. */
export function turnBegan(state: RunState, runId: string): RunStep {
  const { turn } = state;
  switch (turn.status) {
    case 'running':
      return { state, effects: [] };
    // The agent works on its own: a background task of it ended.
    case 'none':
    case 'checking':
      return begin(state, runId, undefined);
    case 'sent': {
      // What comes before a verdict's line is no run: see ADR 0008.
      if (turn.line.type === 'verdict' || turn.opening) return { state, effects: [] };
      // The user wants to stop whatever is going on.
      const interrupted = turn.interruptWanted;
      const opening = { runId: turn.line.type === 'continuation' ? turn.line.run.runId : runId, interrupted };
      return { state: { ...state, turn: { ...turn, opening } }, effects: interrupted ? [INTERRUPT] : [] };
    }
    default:
      return assertNever(turn);
  }
}

/** The echo of the line that is with the agent. */
export function lineTaken(state: RunState, runId: string): RunStep {
  const { turn } = state;
  if (turn.status === 'sent') return takeLine(state, turn, runId);
  if (turn.status !== 'running' || !turn.behind) return { state, effects: [] };
  // The agent took the line up within its own turn.
  const { behind, ...own } = turn;
  if (behind.type === 'continuation') return { state: { ...state, turn: own }, effects: [] };
  const taken = takeLine(state, { status: 'sent', line: behind, interruptWanted: false }, runId);
  return { ...taken, effects: [emit(toRunEnd(own.runId, 'ok')), ...taken.effects] };
}

function takeLine(state: RunState, turn: Sent, newRunId: string): RunStep {
  const { line, opening, interruptWanted: interrupting } = turn;
  const runId = opening?.runId ?? newRunId;
  const late = interrupting && !opening?.interrupted ? [INTERRUPT] : [];
  if (line.type === 'prompt') {
    const begun = begin(state, runId, line.prompt, { interrupting });
    return { ...begun, effects: [...begun.effects, ...late] };
  }
  if (line.type === 'continuation') {
    return { state: { ...state, turn: { ...toRunning(line.run), interrupting } }, effects: late };
  }
  return {
    state: { ...state, turn: { status: 'running', runId, interrupting } },
    effects: [{ type: 'verdict_taken', runId }, ...late],
  };
}

function toRunning({ runId, promptId }: CutRun): Running {
  return { status: 'running', runId, ...(promptId === undefined ? {} : { promptId }), interrupting: false };
}

/** Part of a turn without the echo: the agent's own, our line comes after it. */
export function turnShown(state: RunState, runId: string): RunStep {
  const { turn } = state;
  if (turn.status !== 'sent') return turnBegan(state, runId);
  const { line, opening } = turn;
  if (line.type === 'verdict') return { state, effects: [] };
  const interrupting = opening?.interrupted ?? false;
  if (line.type === 'prompt') return begin(state, opening?.runId ?? runId, undefined, { interrupting, behind: line });
  return { state: { ...state, turn: { ...toRunning(line.run), interrupting, behind: line } }, effects: [] };
}

/** The turn is over; a line that waits behind it has its own next. */
export function turnOver(state: RunState, turn: Running, outcome: TurnOutcome): RunStep {
  const { behind, runId } = turn;
  const ended = [emit(toRunEnd(runId, outcome))];
  if (!behind) return { state: { ...state, turn: { status: 'none' } }, effects: ended };
  const next: Turn = { status: 'sent', line: behind, interruptWanted: false };
  // A cut run goes on in the line's turn.
  return { state: { ...state, turn: next }, effects: behind.type === 'continuation' ? [] : ended };
}
