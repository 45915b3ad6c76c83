// What becomes of runs that a killed agent had not written down.

import { describe, expect, it } from 'vitest';
import { lineUuid } from '../src/prompt-line.js';
import { NEW_SESSION, recover, type SessionInput, type SessionState, step } from '../src/session-core.js';
import { noteTaken, type TakenLine } from '../src/taken-lines.js';

const ANSWERED: Extract<SessionInput, { type: 'turn_result' }> = {
  type: 'turn_result',
  ok: true,
  poisoned: false,
  unknownSession: false,
  toolUnavailable: false,
  empty: false,
};
const toPrompt = (promptId: string) =>
  ({ type: 'command', command: { type: 'prompt', prompt_id: promptId, text: 'Go.' } }) as const;
const takes = (promptId: string): SessionInput => ({
  type: 'line_taken',
  uuid: lineUuid({ type: 'prompt', prompt: { promptId, text: 'Go.', attempts: 0, continues: false } }),
});

function play(inputs: readonly SessionInput[], from: SessionState = { ...NEW_SESSION, settled: true }) {
  let state = from;
  let last = step(state, { type: 'settled' }, 'none');
  for (const [at, input] of inputs.entries()) {
    last = step(state, input, `run-${at}`);
    state = last.state;
  }
  return last;
}

/** Two prompts one after the other, each to its end. */
const TWO_RUNS = [toPrompt('p1'), takes('p1'), ANSWERED, toPrompt('p2'), takes('p2'), ANSWERED];
const exit = (clean: boolean): SessionInput => ({ type: 'agent_exited', reason: 'gone', clean });
const checks = ({ effects }: ReturnType<typeof step>) => effects.filter(({ type }) => type === 'check_taken');

describe('runs of an agent that is gone', () => {
  it('are looked up in its conversation when it was killed, not when it left by itself', () => {
    expect(checks(play([...TWO_RUNS, exit(false)]))).toMatchObject([
      { lines: [{ runId: 'run-1' }, { runId: 'run-4' }] },
    ]);
    const left = play([...TWO_RUNS, exit(true)]);
    expect(checks(left)).toEqual([]);
    expect(left.state.taken).toBeUndefined();
  });

  it('that it does not remember are told, each once, and never run again', () => {
    const killed = play([...TWO_RUNS, exit(false)]).state;
    const lines = killed.taken ?? [];
    const { state, effects } = play([{ type: 'taken_checked', lines, lost: lines.slice(1) }], killed);
    expect(effects).toMatchObject([
      { type: 'emit', event: { type: 'notice', level: 'warning', code: 'run_forgotten', run_id: 'run-4' } },
    ]);
    expect(state.taken).toBeUndefined();
    expect(checks(play([toPrompt('p3'), exit(false)], state))).toEqual([]);
  });

  it('are looked up after a crash of the harness too', () => {
    const saved = play(TWO_RUNS).state;
    expect(checks(recover(saved, 'new'))).toMatchObject([{ lines: [{ runId: 'run-1' }, { runId: 'run-4' }] }]);
  });

  it('that came while the conversation was read wait for their own look', () => {
    const killed = play([...TWO_RUNS, exit(false)]).state;
    const lines = killed.taken ?? [];
    const next = play([toPrompt('p3'), takes('p3'), { type: 'taken_checked', lines, lost: [] }], killed).state;
    expect(next.taken).toMatchObject([{ runId: 'run-1' }]);
    expect(next.taken).toHaveLength(1);
  });

  it('are few: the oldest were written long ago', () => {
    let lines: readonly TakenLine[] | undefined;
    for (let at = 0; at < 100; at += 1) lines = noteTaken(lines, { uuid: `u${at}`, runId: `r${at}` });
    expect(lines).toHaveLength(20);
    expect(lines?.at(-1)).toEqual({ uuid: 'u99', runId: 'r99' });
  });
});
