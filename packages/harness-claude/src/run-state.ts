// Prompts, lines and turns: the values run-core works on.

import { assertNever, type HarnessEvent } from '@engram/harness-proto';

export interface QueuedPrompt {
  readonly promptId: string;
  readonly text: string;
  readonly attempts: number;
  /** The agent has this prompt's line and never finished: it is asked to go on instead. */
  readonly continues: boolean;
}

/** One line for the agent's stdin. */
export type Line =
  | { readonly type: 'prompt'; readonly prompt: QueuedPrompt }
  /** Carries the verdict of the parked call. */
  | { readonly type: 'verdict'; readonly toolCallId: string }
  /** Asks the agent to go on with a run that is open in the log. */
  | { readonly type: 'continuation'; readonly run: CutRun };

/** An open run whose process is gone: the agent has its words and never finished. */
export interface CutRun {
  readonly runId: string;
  readonly promptId?: string;
  readonly attempts: number;
}

export type Turn =
  | { readonly status: 'none' }
  | {
      readonly status: 'sent';
      readonly line: Line;
      readonly interruptWanted: boolean;
      /** A turn has begun, and nothing says yet whether it is the line's or one of the agent's own. */
      readonly opening?: { readonly runId: string; readonly interrupted: boolean };
    }
  | { readonly status: 'checking'; readonly line: Line; readonly interruptWanted: boolean }
  | {
      readonly status: 'running';
      readonly runId: string;
      readonly promptId?: string;
      readonly interrupting: boolean;
      /** The agent made this turn by itself; our line waits behind it. */
      readonly behind?: Line;
    };

export interface StartedPrompt {
  readonly promptId: string;
  readonly runId: string;
}

export interface RunState {
  readonly turn: Turn;
  readonly queue: readonly QueuedPrompt[];
  /** Goes before the queue. */
  readonly cut?: CutRun;
  /** The newest prompts whose run was reported, to recognise a redelivery. */
  readonly started: readonly StartedPrompt[];
}

export type TurnOutcome = 'ok' | 'failed' | 'interrupted';
/** What the transcript says about a line after its process is gone. */
export type LineTrace = 'absent' | 'unfinished' | 'finished';

export type RunInput =
  | { readonly type: 'enqueue'; readonly promptId: string; readonly text: string }
  | { readonly type: 'edit'; readonly promptId: string; readonly text: string }
  | { readonly type: 'dequeue'; readonly promptId: string }
  | { readonly type: 'send_next' }
  | { readonly type: 'send_continuation' }
  /** The run is open in the log, its process gone. */
  | { readonly type: 'run_cut' }
  /** The same, but the next process takes it up by itself: it gets its answer once more. */
  | { readonly type: 'run_suspended' }
  | { readonly type: 'send_verdict'; readonly toolCallId: string }
  /** A message of the model's begins. */
  | { readonly type: 'turn_began'; readonly runId: string }
  /** The agent's echo of the line that is with it: what follows is the line's turn. */
  | { readonly type: 'line_taken'; readonly runId: string }
  /** A whole block, or the end of a turn, without that echo before it: the turn is the agent's own. */
  | { readonly type: 'turn_shown'; readonly runId: string }
  /** The verdict reached the agent without a line: its run is open. */
  | { readonly type: 'open_run'; readonly runId: string; readonly promptId?: string }
  | { readonly type: 'turn_over'; readonly outcome: TurnOutcome }
  /** The agent refused the line before its turn began: it goes back to the head of the queue. */
  | { readonly type: 'take_back' }
  | { readonly type: 'agent_exited'; readonly reason: string }
  | { readonly type: 'line_checked'; readonly trace: LineTrace; readonly runId: string }
  | { readonly type: 'interrupt' }
  | { readonly type: 'interrupt_overdue' };

export type RunEffect =
  | { readonly type: 'emit'; readonly event: HarnessEvent }
  | { readonly type: 'write_line'; readonly line: Line }
  | { readonly type: 'check_line'; readonly line: Line }
  | { readonly type: 'send_interrupt' }
  | { readonly type: 'kill_agent' }
  | { readonly type: 'verdict_taken'; readonly runId: string }
  /** The run just opened belongs to a process that is gone: end it, or have it continued. */
  | { readonly type: 'settle_run'; readonly trace: LineTrace };

export interface RunStep {
  readonly state: RunState;
  readonly effects: readonly RunEffect[];
}

export const NO_RUNS: RunState = { turn: { status: 'none' }, queue: [], started: [] };
export const PROMPT_ATTEMPTS = 3;
export const STARTED_KEPT = 50;

export function isPromptKnown(state: RunState, promptId: string): boolean {
  return state.queue.some((prompt) => prompt.promptId === promptId) || currentPromptId(state.turn) === promptId;
}

function currentPromptId(turn: Turn): string | undefined {
  switch (turn.status) {
    case 'none':
      return undefined;
    case 'running':
      return turn.promptId ?? (turn.behind && promptIdOf(turn.behind));
    case 'sent':
    case 'checking':
      return promptIdOf(turn.line);
    default:
      return assertNever(turn);
  }
}

function promptIdOf(line: Line): string | undefined {
  if (line.type === 'continuation') return line.run.promptId;
  return line.type === 'prompt' ? line.prompt.promptId : undefined;
}
