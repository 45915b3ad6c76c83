// Every state of a turn against every input: the compiler finds a missing cell.

import { describe, expect, it } from 'vitest';
import { recoverRuns, stepRun } from '../src/run-core.js';
import { type Line, NO_RUNS, type QueuedPrompt, type RunInput, type RunState, type Turn } from '../src/run-state.js';

const queued = (promptId: string, more: Partial<QueuedPrompt> = {}): QueuedPrompt => ({
  promptId,
  text: `text of ${promptId}`,
  attempts: 0,
  continues: false,
  ...more,
});
const promptLine: Line = { type: 'prompt', prompt: queued('p1') };
const verdictLine: Line = { type: 'verdict', toolCallId: 'q1' };

const turns = {
  none: { status: 'none' },
  sent: { status: 'sent', line: promptLine, interruptWanted: false },
  opening: { status: 'sent', line: promptLine, interruptWanted: false, opening: { runId: 'r0', interrupted: false } },
  sent_verdict: { status: 'sent', line: verdictLine, interruptWanted: false },
  checking: { status: 'checking', line: promptLine, interruptWanted: false },
  running: { status: 'running', runId: 'r0', promptId: 'p1', interrupting: false },
  interrupting: { status: 'running', runId: 'r0', promptId: 'p1', interrupting: true },
  own_turn: { status: 'running', runId: 'r0', interrupting: false, behind: promptLine },
} as const satisfies Record<string, Turn>;
type TurnName = keyof typeof turns;

const inputs = {
  enqueue: { type: 'enqueue', promptId: 'p9', text: 'new' },
  enqueue_known: { type: 'enqueue', promptId: 'p2', text: 'again' },
  edit: { type: 'edit', promptId: 'p2', text: 'edited' },
  edit_unknown: { type: 'edit', promptId: 'p1', text: 'edited' },
  dequeue: { type: 'dequeue', promptId: 'p2' },
  dequeue_unknown: { type: 'dequeue', promptId: 'p1' },
  send_next: { type: 'send_next' },
  send_verdict: { type: 'send_verdict', toolCallId: 'q1' },
  send_continuation: { type: 'send_continuation' },
  run_cut: { type: 'run_cut' },
  run_suspended: { type: 'run_suspended' },
  turn_began: { type: 'turn_began', runId: 'r1' },
  line_taken: { type: 'line_taken', runId: 'r1' },
  turn_shown: { type: 'turn_shown', runId: 'r1' },
  open_run: { type: 'open_run', runId: 'r1' },
  turn_over: { type: 'turn_over', outcome: 'ok' },
  take_back: { type: 'take_back' },
  agent_exited: { type: 'agent_exited', reason: 'gone' },
  checked_absent: { type: 'line_checked', trace: 'absent', runId: 'r1' },
  checked_unfinished: { type: 'line_checked', trace: 'unfinished', runId: 'r1' },
  checked_finished: { type: 'line_checked', trace: 'finished', runId: 'r1' },
  interrupt: { type: 'interrupt' },
  interrupt_overdue: { type: 'interrupt_overdue' },
} as const satisfies Record<string, RunInput>;
type InputName = keyof typeof inputs;

/** Next turn, queue, then what follows: event types, or effect types. */
type Cell = string;

const still = (turn: string): Record<InputName, Cell> => ({
  enqueue: `${turn} | p2 p9 |`,
  enqueue_known: `${turn} | p2 |`,
  edit: `${turn} | p2 | prompt_edited`,
  edit_unknown: `${turn} | p2 |`,
  dequeue: `${turn} | | prompt_dequeued`,
  dequeue_unknown: `${turn} | p2 |`,
  send_next: `${turn} | p2 |`,
  send_verdict: `${turn} | p2 |`,
  send_continuation: `${turn} | p2 |`,
  run_cut: `${turn} | p2 |`,
  run_suspended: `${turn} | p2 |`,
  turn_began: `${turn} | p2 |`,
  line_taken: `${turn} | p2 |`,
  turn_shown: `${turn} | p2 |`,
  open_run: 'running | p2 |',
  turn_over: `${turn} | p2 |`,
  take_back: `${turn} | p2 |`,
  agent_exited: `${turn} | p2 |`,
  checked_absent: `${turn} | p2 |`,
  checked_unfinished: `${turn} | p2 |`,
  checked_finished: `${turn} | p2 |`,
  interrupt: `${turn} | p2 |`,
  interrupt_overdue: `${turn} | p2 |`,
});

const table: Record<TurnName, Record<InputName, Cell>> = {
  none: {
    ...still('none'),
    send_next: 'sent | | write_line',
    send_verdict: 'sent | p2 | write_line',
    turn_began: 'running | p2 | run_started',
    turn_shown: 'running | p2 | run_started',
  },
  sent: {
    ...still('sent'),
    line_taken: 'running | p2 | run_started',
    turn_shown: 'running | p2 | run_started',
    take_back: 'none | p1 p2 |',
    agent_exited: 'checking | p2 | check_line',
  },
  opening: {
    ...still('sent'),
    line_taken: 'running | p2 | run_started',
    turn_shown: 'running | p2 | run_started',
    take_back: 'none | p1 p2 |',
    agent_exited: 'checking | p2 | check_line',
    interrupt: 'sent | p2 | send_interrupt',
  },
  sent_verdict: {
    ...still('sent'),
    line_taken: 'running | p2 | verdict_taken',
    take_back: 'none | p2 |',
    agent_exited: 'checking | p2 | check_line',
  },
  checking: {
    ...still('checking'),
    turn_began: 'running | p2 | run_started',
    turn_shown: 'running | p2 | run_started',
    checked_absent: 'none | p1 p2 |',
    checked_unfinished: 'none | p1 p2 | notice',
    checked_finished: 'none | p2 | run_started run_completed',
  },
  running: {
    ...still('running'),
    run_cut: 'none | p2 | notice',
    run_suspended: 'none | p2 | notice',
    turn_over: 'none | p2 | run_completed',
    agent_exited: 'none | p2 | notice run_completed',
    interrupt: 'running | p2 | send_interrupt',
  },
  own_turn: {
    ...still('running'),
    run_cut: 'none | p2 | notice',
    run_suspended: 'none | p2 | notice',
    line_taken: 'running | p2 | run_completed run_started',
    turn_over: 'sent | p2 | run_completed',
    agent_exited: 'checking | p2 | notice run_completed check_line',
    interrupt: 'running | p2 | send_interrupt',
  },
  interrupting: {
    ...still('running'),
    run_cut: 'none | p2 | notice',
    run_suspended: 'none | p2 | notice',
    turn_over: 'none | p2 | run_completed',
    agent_exited: 'none | p2 | notice run_interrupted',
    interrupt_overdue: 'running | p2 | kill_agent',
  },
};

const stateOf = (turn: Turn): RunState => ({ ...NO_RUNS, turn, queue: [queued('p2')] });

function describeStep({ state, effects }: ReturnType<typeof stepRun>): string {
  const told = effects.map((effect) => (effect.type === 'emit' ? effect.event.type : effect.type));
  const queue = state.queue.map((prompt) => prompt.promptId);
  return [state.turn.status, '|', ...queue, '|', ...told].join(' ');
}

describe('the run core', () => {
  const isTurn = (name: string): name is TurnName => name in turns;
  const isInput = (name: string): name is InputName => name in inputs;
  for (const turn of Object.keys(turns).filter(isTurn)) {
    it.each(Object.keys(inputs).filter(isInput))(`${turn} on %s`, (input) => {
      expect(describeStep(stepRun(stateOf(turns[turn]), inputs[input]))).toBe(table[turn][input]);
    });
  }

  it('reports a prompt as run when its turn is proven, never when its line is written', () => {
    const sent = stepRun({ ...NO_RUNS, queue: [queued('p1')] }, { type: 'send_next' });
    expect(describeStep(sent)).toBe('sent | | write_line');
    const { effects, state } = stepRun(sent.state, inputs.line_taken);
    expect(effects).toMatchObject([{ event: { type: 'run_started', run_id: 'r1', prompt_id: 'p1' } }]);
    expect(state.started).toEqual([{ promptId: 'p1', runId: 'r1' }]);
  });

  it('keeps the id under which a turn was shown, whoever it turns out to belong to', () => {
    const { state } = stepRun(stateOf(turns.sent), inputs.turn_began);
    const ours = stepRun(state, { type: 'line_taken', runId: 'r2' });
    expect(ours.effects).toMatchObject([{ event: { run_id: 'r1', prompt_id: 'p1' } }]);
    const own = stepRun(state, { type: 'turn_shown', runId: 'r2' });
    expect(own.effects).toMatchObject([{ event: { run_id: 'r1' } }]);
    expect(own.effects[0]).not.toHaveProperty('event.prompt_id');
  });

  it('runs a prompt once, in its own turn, when the agent makes one of its own before', () => {
    const own = stepRun(stateOf(turns.sent), inputs.turn_shown).state;
    expect(stepRun(own, { type: 'enqueue', promptId: 'p1', text: 'again' }).state).toBe(own);
    const { state } = stepRun(own, inputs.turn_over);
    const { effects } = stepRun(state, { type: 'line_taken', runId: 'r2' });
    expect(effects).toMatchObject([{ event: { type: 'run_started', run_id: 'r2', prompt_id: 'p1' } }]);
  });

  it("has a cut run go on through a turn of the agent's own, without an end in between", () => {
    const sent = stepRun(stepRun(stateOf(turns.running), inputs.run_cut).state, inputs.send_continuation).state;
    const own = stepRun(sent, inputs.turn_shown);
    expect(describeStep(own)).toBe('running | p2 |');
    const over = stepRun(own.state, inputs.turn_over);
    expect(describeStep(over)).toBe('sent | p2 |');
    const last = stepRun(stepRun(over.state, inputs.line_taken).state, inputs.turn_over);
    expect(last.effects).toMatchObject([{ event: { type: 'run_completed', run_id: 'r0' } }]);
  });

  it('gives a prompt up, visibly, after some agents that never took it', () => {
    const line: Line = { type: 'prompt', prompt: queued('p1', { attempts: 2 }) };
    const state: RunState = { ...NO_RUNS, turn: { status: 'checking', line, interruptWanted: false } };
    expect(describeStep(stepRun(state, inputs.checked_absent))).toBe('none | | run_started notice run_completed');
  });

  it('interrupts a run that was asked to stop before it began', () => {
    const { state } = stepRun(stateOf(turns.sent), { type: 'interrupt' });
    expect(describeStep(stepRun(state, inputs.line_taken))).toBe('running | p2 | run_started send_interrupt');
  });

  it('stops a turn that has begun at once, and only once', () => {
    const { state } = stepRun(stateOf(turns.opening), inputs.interrupt);
    expect(describeStep(stepRun(state, inputs.interrupt))).toBe('sent | p2 |');
    expect(describeStep(stepRun(state, inputs.line_taken))).toBe('running | p2 | run_started');
    expect(describeStep(stepRun(state, inputs.interrupt_overdue))).toBe('sent | p2 | kill_agent');
  });

  it('has a cut run continued under its own id, some times, and then tells it as failed', () => {
    let { state } = stepRun(stateOf(turns.running), { type: 'run_cut' });
    for (let i = 0; i < 2; i += 1) {
      const sent = stepRun(state, { type: 'send_continuation' });
      expect(describeStep(sent)).toBe('sent | p2 | write_line');
      expect(stepRun(sent.state, inputs.line_taken)).toMatchObject({ state: { turn: { runId: 'r0' } }, effects: [] });
      state = stepRun(stepRun(sent.state, inputs.agent_exited).state, inputs.checked_unfinished).state;
    }
    const last = stepRun(stepRun(state, { type: 'send_continuation' }).state, inputs.agent_exited);
    expect(describeStep(stepRun(last.state, inputs.checked_absent))).toBe('none | p2 | notice run_completed');
  });

  it('after a crash looks for the line, and tells an open run as failed', () => {
    expect(describeStep(recoverRuns(stateOf(turns.sent), false))).toBe('checking | p2 | check_line');
    expect(describeStep(recoverRuns(stateOf(turns.checking), false))).toBe('checking | p2 | check_line');
    expect(describeStep(recoverRuns(stateOf(turns.running), false))).toBe('none | p2 | notice run_completed');
    expect(describeStep(recoverRuns(stateOf(turns.running), true))).toBe('running | p2 |');
  });
});
