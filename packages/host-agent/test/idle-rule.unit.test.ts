import type { HarnessEvent } from '@engram/harness-proto';
import { describe, expect, it } from 'vitest';
import {
  afterCommand,
  afterEvent,
  createFacts,
  isHoldable,
  type SessionFacts,
  sleepDueAt,
  withHold,
} from '../src/idle-rule.js';

const policy = { idleMs: 30_000, backgroundMs: 900_000, silentMs: 60_000, unprovenMs: 120_000 };
const start = { ...createFacts({ running: false, waiting: [], now: 1_000 }), briefed: true };
const question: HarnessEvent = { type: 'user_question', run_id: 'r1', tool_call_id: 't1', questions: [] };
const runStarted: HarnessEvent = { type: 'run_started', run_id: 'r1', prompt_id: 'p1' };
const runCompleted: HarnessEvent = { type: 'run_completed', run_id: 'r1', ok: true };
const idle: HarnessEvent = { type: 'harness_idle' };

function after(facts: SessionFacts, now: number, ...events: readonly HarnessEvent[]): SessionFacts {
  return events.reduce((known, event) => afterEvent(known, event, now), facts);
}

describe('when a session may be put to sleep', () => {
  it('never while a run is open, however long nothing happens', () => {
    expect(sleepDueAt(after(start, 2_000, runStarted), policy)).toBeUndefined();
  });

  it('never while a run is open that an earlier host left', () => {
    const facts = createFacts({ running: true, waiting: ['t1'], now: 1_000 });
    expect(sleepDueAt({ ...facts, briefed: true }, policy)).toBeUndefined();
  });

  it('never before the harness has heard what waits for it, even without a soft time-out', () => {
    const facts = createFacts({ running: false, waiting: ['t1'], now: 1_000 });
    expect(sleepDueAt(after(facts, 2_000, idle), { ...policy, idleMs: 0 })).toBeUndefined();
    expect(sleepDueAt({ ...facts, briefed: true }, { ...policy, idleMs: 0 })).toBe(61_000);
  });

  it('after the soft time-out when the run has ended', () => {
    expect(sleepDueAt(after(start, 2_000, runStarted, runCompleted, idle), policy)).toBe(32_000);
  });

  it('later while something of the agent runs in the background, but not for ever', () => {
    const notice = (code: string): HarnessEvent => ({ type: 'notice', level: 'info', code, message: code });
    const rested = after(start, 2_000, runStarted, runCompleted, idle);
    const running = after(rested, 2_500, notice('background_running'));
    expect(sleepDueAt(running, policy)).toBe(902_500);
    // What else happens moves the soft time-out alone.
    expect(sleepDueAt(after(running, 10_000, notice('background_running')), policy)).toBe(902_500);
    expect(sleepDueAt(after(running, 890_000, notice('something_else')), policy)).toBe(920_000);
    expect(sleepDueAt(after(running, 10_000, notice('background_ended')), policy)).toBe(40_000);
    expect(sleepDueAt(after(running, 10_000, runStarted, runCompleted, idle), policy)).toBe(40_000);
    expect(sleepDueAt({ ...running, sleepAsked: true }, policy)).toBe(2_500);
    expect(sleepDueAt({ ...running, draining: true }, policy)).toBe(2_500);
    expect(sleepDueAt(after(running, 3_000, question, idle), policy)).toBe(3_000);
  });

  it('at once when a question waits and the harness has come to rest', () => {
    expect(sleepDueAt(after(start, 2_000, runStarted, question, runCompleted, idle), policy)).toBe(2_000);
  });

  it('not at once while the agent of a waiting question is still being ended', () => {
    expect(sleepDueAt(after(start, 2_000, runStarted, question, runCompleted), policy)).toBe(62_000);
  });

  it('not when an answer was delivered that no event has proven yet', () => {
    const asked = after(start, 2_000, runStarted, question, runCompleted, idle);
    const answered = afterCommand(asked, { type: 'answer_question', tool_call_id: 't1', answers: {} }, 3_000);
    // An idle report that crossed the answer on the wire must not put the session to sleep.
    expect(sleepDueAt(after(answered, 3_001, idle), policy)).toBe(123_001);
    const proven = after(
      answered,
      4_000,
      { ...runStarted, run_id: 'r2' },
      {
        type: 'question_answered',
        run_id: 'r2',
        tool_call_id: 't1',
        answers: {},
      },
    );
    expect(proven.unproven.size).toBe(0);
    expect(sleepDueAt(after(proven, 5_000, { ...runCompleted, run_id: 'r2' }, idle), policy)).toBe(35_000);
  });

  it('not because of an old answer to another question', () => {
    const facts = afterCommand(start, { type: 'answer_question', tool_call_id: 't2', answers: {} }, 3_000);
    const other = after(facts, 3_500, { type: 'question_answered', run_id: 'r', tool_call_id: 't1', answers: {} });
    expect([...other.unproven]).toEqual(['answer t2']);
  });

  it('at once when it waits for an answer and a prompt is only queued behind the question', () => {
    const asked = after(start, 2_000, runStarted, question, runCompleted, idle);
    const prompted = afterCommand(asked, { type: 'prompt', prompt_id: 'p2', text: 'x' }, 3_000);
    expect(sleepDueAt(after(prompted, 4_000, { type: 'prompt_queued', prompt_id: 'p2' }, idle), policy)).toBe(4_000);
  });

  it('not before a hold has ended, and at once when it has', () => {
    const asked = after(start, 2_000, runStarted, question, runCompleted, idle);
    const held = withHold(asked, { toolCallId: 't1', until: 50_000 });
    expect(sleepDueAt(held, policy)).toBe(110_000);
    expect(sleepDueAt(after(held, 50_500, idle), policy)).toBe(50_500);
    expect(sleepDueAt(after(held, 40_000, idle), policy)).toBe(50_000);
  });

  it('holds only a question that waits and that nothing on its way will close', () => {
    const asked = after(start, 2_000, runStarted, question, runCompleted, idle);
    expect([isHoldable(asked, 't1'), isHoldable(asked, 't2')]).toEqual([true, false]);
    const answered = afterCommand(asked, { type: 'answer_question', tool_call_id: 't1', answers: {} }, 3_000);
    expect(isHoldable(answered, 't1')).toBe(false);
  });

  it('no later because of a hold on a question that was answered', () => {
    const asked = after(start, 2_000, runStarted, question, runCompleted, idle);
    const held = withHold(asked, { toolCallId: 't1', until: 500_000 });
    const done = after(held, 3_000, { type: 'question_answered', run_id: 'r2', tool_call_id: 't1', answers: {} }, idle);
    expect(sleepDueAt(done, policy)).toBe(33_000);
  });

  it('at once when somebody asked for it and nothing is owed', () => {
    expect(sleepDueAt({ ...start, sleepAsked: true }, policy)).toBe(1_000);
    const owed = afterCommand({ ...start, sleepAsked: true }, { type: 'prompt', prompt_id: 'p', text: 'x' }, 1_000);
    expect(sleepDueAt(owed, policy)).toBe(121_000);
  });

  it('without the soft time-out while the host drains', () => {
    expect(sleepDueAt({ ...after(start, 2_000, runCompleted, idle), draining: true }, policy)).toBe(2_000);
    expect(sleepDueAt({ ...after(start, 2_000, runStarted), draining: true }, policy)).toBeUndefined();
  });

  it('is not put off by what is only passed on', () => {
    expect(afterCommand(start, { type: 'acknowledge', stored_seq: 3 }, 9_000)).toBe(start);
    expect(afterCommand(start, { type: 'interrupt' }, 9_000)).toBe(start);
  });
});
