// Prompts and runs: what waits, what was handed to the agent, what the agent works on. Pure.
//
//   none ─send→ sent ─line_taken→ running ─turn_over→ none
//                └─agent_exited→ checking ─line_checked→ none
//
// At most one line is with the agent. A prompt counts as taken when the stream shows its turn, not
// when the line was written, and not by a turn of the agent's own: see turn-owner. After a crash the
// transcript tells whether the agent ever saw it.

import { assertNever, type HarnessEvent } from '@engram/harness-proto';
import { summarizePrompt } from './prompt-line.js';
import {
  type CutRun,
  isPromptKnown,
  type Line,
  type LineTrace,
  PROMPT_ATTEMPTS,
  type RunEffect,
  type RunInput,
  type RunState,
  type RunStep,
  type Turn,
} from './run-state.js';
import { begin, emit, lineTaken, remember, toRunEnd, turnBegan, turnOver, turnShown } from './turn-owner.js';

const NONE: Turn = { status: 'none' };

export function stepRun(state: RunState, input: RunInput): RunStep {
  const { turn } = state;
  const stay: RunStep = { state, effects: [] };
  switch (input.type) {
    case 'enqueue':
      if (isPromptKnown(state, input.promptId)) return stay;
      return {
        state: {
          ...state,
          queue: [...state.queue, { promptId: input.promptId, text: input.text, attempts: 0, continues: false }],
        },
        effects: [],
      };
    case 'edit': {
      const found = state.queue.find((prompt) => prompt.promptId === input.promptId);
      // A continuation's text is with the agent already.
      if (!found || found.continues) return stay;
      const queue = state.queue.map((prompt) => (prompt === found ? { ...prompt, text: input.text } : prompt));
      const event: HarnessEvent = {
        type: 'prompt_edited',
        prompt_id: input.promptId,
        summary: summarizePrompt(input.text),
      };
      return { state: { ...state, queue }, effects: [emit(event)] };
    }
    case 'dequeue': {
      const queue = state.queue.filter((prompt) => prompt.promptId !== input.promptId);
      if (queue.length === state.queue.length) return stay;
      return {
        state: { ...state, queue },
        effects: [emit({ type: 'prompt_dequeued', prompt_id: input.promptId })],
      };
    }
    case 'send_next': {
      const [prompt, ...queue] = state.queue;
      if (turn.status !== 'none' || !prompt) return stay;
      const line: Line = { type: 'prompt', prompt };
      return {
        state: { ...state, queue, turn: { status: 'sent', line, interruptWanted: false } },
        effects: [{ type: 'write_line', line }],
      };
    }
    case 'run_cut': {
      if (turn.status !== 'running') return stay;
      const { runId, promptId } = turn;
      const cut: CutRun = { runId, ...(promptId === undefined ? {} : { promptId }), attempts: 0 };
      return { state: { ...state, turn: NONE, cut }, effects: [continued(runId)] };
    }
    case 'send_continuation': {
      const { cut: run, ...rest } = state;
      if (turn.status !== 'none' || !run) return stay;
      const line: Line = { type: 'continuation', run };
      return {
        state: { ...rest, turn: { status: 'sent', line, interruptWanted: false } },
        effects: [{ type: 'write_line', line }],
      };
    }
    case 'send_verdict': {
      if (turn.status !== 'none') return stay;
      const line: Line = { type: 'verdict', toolCallId: input.toolCallId };
      return {
        state: { ...state, turn: { status: 'sent', line, interruptWanted: false } },
        effects: [{ type: 'write_line', line }],
      };
    }
    case 'run_suspended': {
      if (turn.status !== 'running') return stay;
      const message = 'The agent ended before it kept the reply to its question. It is told once more.';
      return {
        state: { ...state, turn: NONE },
        effects: [emit({ type: 'notice', level: 'info', code: 'answer_repeated', message, run_id: turn.runId })],
      };
    }
    case 'turn_began':
      return turnBegan(state, input.runId);
    case 'line_taken':
      return lineTaken(state, input.runId);
    case 'turn_shown':
      return turnShown(state, input.runId);
    case 'open_run': {
      const next: Turn = {
        status: 'running',
        runId: input.runId,
        ...(input.promptId === undefined ? {} : { promptId: input.promptId }),
        interrupting: turn.status === 'running' && turn.interrupting,
      };
      const opened = { ...state, turn: next };
      return { state: input.promptId ? remember(opened, input.promptId, input.runId) : opened, effects: [] };
    }
    case 'turn_over':
      return turn.status === 'running' ? turnOver(state, turn, input.outcome) : stay;
    case 'take_back':
      if (turn.status !== 'sent') return stay;
      return { state: putBack(state, turn.line), effects: [] };
    case 'agent_exited':
      return exited(state, input.reason);
    case 'line_checked':
      return turn.status === 'checking' ? checked(state, turn.line, input.trace, input.runId) : stay;
    case 'interrupt':
      if (turn.status === 'running' && !turn.interrupting) {
        return { state: { ...state, turn: { ...turn, interrupting: true } }, effects: [{ type: 'send_interrupt' }] };
      }
      return turn.status === 'sent' ? interruptSent(state, turn) : stay;
    case 'interrupt_overdue': {
      const waits = turn.status === 'running' ? turn.interrupting : turn.status === 'sent' && turn.opening?.interrupted;
      return waits ? { state, effects: [{ type: 'kill_agent' }] } : stay;
    }
    default:
      return assertNever(input);
  }
}

/** A turn that has begun is stopped at once, whoever's it is. */
function interruptSent(state: RunState, turn: Extract<Turn, { status: 'sent' }>): RunStep {
  const { opening } = turn;
  const wanted: Turn = { ...turn, interruptWanted: true };
  if (!opening || opening.interrupted) return { state: { ...state, turn: wanted }, effects: [] };
  return {
    state: { ...state, turn: { ...wanted, opening: { ...opening, interrupted: true } } },
    effects: [{ type: 'send_interrupt' }],
  };
}

function continued(runId?: string): RunEffect {
  const message = 'The agent was cut off while it worked. It is asked to go on where it was.';
  return emit({
    type: 'notice',
    level: 'warning',
    code: 'prompt_continued',
    message,
    ...(runId === undefined ? {} : { run_id: runId }),
  });
}

function putBack(state: RunState, line: Line): RunState {
  if (line.type === 'continuation') return { ...state, turn: NONE, cut: line.run };
  const queue = line.type === 'prompt' ? [line.prompt, ...state.queue] : state.queue;
  return { ...state, turn: NONE, queue };
}

function exited(state: RunState, reason: string): RunStep {
  const { turn } = state;
  switch (turn.status) {
    case 'none':
    case 'checking':
      return { state, effects: [] };
    case 'sent':
      return check(state, turn.line, turn.interruptWanted, []);
    case 'running': {
      const { behind, runId, interrupting } = turn;
      const ended = [
        emit({ type: 'notice', level: 'error', code: 'agent_exited', message: reason, run_id: runId }),
        emit(toRunEnd(runId, interrupting ? 'interrupted' : 'failed')),
      ];
      if (!behind) return { state: { ...state, turn: NONE }, effects: ended };
      return check(state, behind, false, behind.type === 'continuation' ? [] : ended);
    }
    default:
      return assertNever(turn);
  }
}

/** Whether the agent ever saw the line is in its conversation. */
function check(state: RunState, line: Line, interruptWanted: boolean, effects: readonly RunEffect[]): RunStep {
  const turn: Turn = { status: 'checking', line, interruptWanted };
  return { state: { ...state, turn }, effects: [...effects, { type: 'check_line', line }] };
}

function checked(state: RunState, line: Line, trace: LineTrace, runId: string): RunStep {
  if (line.type === 'verdict') {
    // The question stays owed when the line is not there; when it is, its run is over one way or the other.
    if (trace === 'absent') return { state: { ...state, turn: NONE }, effects: [] };
    return {
      state: { ...state, turn: NONE },
      effects: [
        { type: 'verdict_taken', runId },
        { type: 'settle_run', trace },
      ],
    };
  }
  if (line.type === 'continuation') {
    const run = { ...line.run, attempts: line.run.attempts + 1 };
    if (trace === 'finished') return { state: { ...state, turn: NONE }, effects: [emit(toRunEnd(run.runId, 'ok'))] };
    if (run.attempts < PROMPT_ATTEMPTS) return { state: putBack(state, { ...line, run }), effects: [] };
    const message = 'The agent ended again and again before it went on.';
    return {
      state: { ...state, turn: NONE },
      effects: [
        emit({ type: 'notice', level: 'error', code: 'agent_exited', message, run_id: run.runId }),
        emit(toRunEnd(run.runId, 'failed')),
      ],
    };
  }
  const prompt = { ...line.prompt, attempts: line.prompt.attempts + 1 };
  if (trace === 'finished') {
    const { state: opened, effects } = begin({ ...state, turn: NONE }, runId, prompt);
    return { state: { ...opened, turn: NONE }, effects: [...effects, emit(toRunEnd(runId, 'ok'))] };
  }
  if (prompt.attempts >= PROMPT_ATTEMPTS) {
    const { state: opened, effects } = begin({ ...state, turn: NONE }, runId, prompt);
    const message = `The agent ended ${PROMPT_ATTEMPTS} times before it took this prompt.`;
    return {
      state: { ...opened, turn: NONE },
      effects: [
        ...effects,
        emit({ type: 'notice', level: 'error', code: 'agent_exited', message, run_id: runId }),
        emit(toRunEnd(runId, 'failed')),
      ],
    };
  }
  if (trace === 'absent') return { state: putBack(state, { type: 'prompt', prompt }), effects: [] };
  return {
    state: putBack(state, { type: 'prompt', prompt: { ...prompt, continues: true } }),
    effects: [continued()],
  };
}

/** After a crash of the harness. A run that asks a question is looked at first: see question-core. */
export function recoverRuns(state: RunState, questionInDoubt: boolean): RunStep {
  if (state.turn.status === 'checking') return { state, effects: [{ type: 'check_line', line: state.turn.line }] };
  if (questionInDoubt) return { state, effects: [] };
  return exited(state, 'The agent was ended while it worked: its keeper was restarted.');
}
