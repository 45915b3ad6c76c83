import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFacts } from '../src/idle-rule.js';
import {
  createRunnerState,
  nextTimerAt,
  type RunnerEffect,
  type RunnerInput,
  type RunnerPolicy,
  type RunnerState,
  stepRunner,
} from '../src/runner-core.js';

const policy: RunnerPolicy = {
  idleMs: 30_000,
  backgroundMs: 900_000,
  silentMs: 30_000,
  unprovenMs: 120_000,
  attachMs: 10_000,
  graceSecs: 5,
  killAfterMs: 7_000,
  backOffMs: [0, 500],
  stableMs: 60_000,
};
const NOW = 1_000_000;

type Status = RunnerState['status'];
type InputType = RunnerInput['type'];

const common = {
  facts: { ...createFacts({ running: false, waiting: [], now: NOW }), briefed: true },
  tries: 0,
  startedAt: NOW,
  closing: false,
};
const states: Record<Status, RunnerState> = {
  preparing: { ...common, status: 'preparing' },
  starting: { ...common, status: 'starting', killAt: NOW },
  attached: { ...common, status: 'attached' },
  backing_off: { ...common, status: 'backing_off', until: NOW },
  ending: { ...common, status: 'ending', killAt: NOW },
  resting: { ...common, status: 'resting' },
  failing: { ...common, status: 'failing' },
  dropping: { ...common, status: 'dropping', why: 'deleted' },
  ended: { ...common, status: 'ended', outcome: 'idle' },
};
const inputs: Record<InputType, RunnerInput> = {
  prepared: { type: 'prepared' },
  prepare_failed: { type: 'prepare_failed', code: 'c', message: 'm' },
  attached: { type: 'attached' },
  briefed: { type: 'briefed' },
  link_lost: { type: 'link_lost' },
  harness_broken: { type: 'harness_broken' },
  harness_exited: { type: 'harness_exited' },
  events_stored: { type: 'events_stored', events: [{ type: 'harness_idle' }] },
  command_sent: { type: 'command_sent', command: { type: 'interrupt' } },
  wishes: { type: 'wishes', wishes: { sleep: false, deleted: true } },
  timer: { type: 'timer' },
  drain: { type: 'drain' },
  make_room: { type: 'make_room' },
  close: { type: 'close' },
  lease_lost: { type: 'lease_lost' },
  rested: { type: 'rested' },
  work_waiting: { type: 'work_waiting' },
  failure_stored: { type: 'failure_stored' },
  release_refused: { type: 'release_refused' },
  let_go: { type: 'let_go' },
};

/** Where an input leads, and the effects; '=' stays, without effects. */
const table: Record<Status, Record<InputType, string>> = {
  preparing: {
    prepared: 'starting start_harness',
    prepare_failed: 'failing fail',
    attached: '=',
    briefed: '=',
    link_lost: '=',
    harness_broken: '=',
    harness_exited: '=',
    events_stored: '=',
    command_sent: '=',
    wishes: 'dropping let_go',
    timer: '=',
    drain: '=',
    make_room: '=',
    close: '=',
    lease_lost: 'dropping let_go',
    rested: '=',
    work_waiting: '=',
    failure_stored: '=',
    release_refused: '=',
    let_go: '=',
  },
  starting: {
    prepared: '=',
    prepare_failed: '=',
    attached: 'attached',
    briefed: '=',
    link_lost: '=',
    harness_broken: 'starting kill_harness',
    harness_exited: 'starting start_harness',
    events_stored: '=',
    command_sent: '=',
    wishes: 'dropping let_go',
    timer: 'starting kill_harness',
    drain: '=',
    make_room: '=',
    close: 'ending',
    lease_lost: 'dropping let_go',
    rested: '=',
    work_waiting: '=',
    failure_stored: '=',
    release_refused: '=',
    let_go: '=',
  },
  attached: {
    prepared: '=',
    prepare_failed: '=',
    attached: '=',
    briefed: '=',
    link_lost: 'starting',
    harness_broken: 'attached kill_harness',
    harness_exited: 'starting start_harness',
    events_stored: '=',
    command_sent: '=',
    wishes: 'dropping let_go',
    timer: '=',
    drain: '=',
    make_room: '=',
    close: 'ending evict',
    lease_lost: 'dropping let_go',
    rested: '=',
    work_waiting: '=',
    failure_stored: '=',
    release_refused: '=',
    let_go: '=',
  },
  backing_off: {
    prepared: '=',
    prepare_failed: '=',
    attached: '=',
    briefed: '=',
    link_lost: '=',
    harness_broken: '=',
    harness_exited: '=',
    events_stored: '=',
    command_sent: '=',
    wishes: 'dropping let_go',
    timer: 'starting start_harness',
    drain: '=',
    make_room: '=',
    close: 'resting rest',
    lease_lost: 'dropping let_go',
    rested: '=',
    work_waiting: '=',
    failure_stored: '=',
    release_refused: '=',
    let_go: '=',
  },
  ending: {
    prepared: '=',
    prepare_failed: '=',
    attached: 'ending send_shutdown',
    briefed: '=',
    link_lost: '=',
    harness_broken: '=',
    harness_exited: 'resting rest',
    events_stored: '=',
    command_sent: '=',
    wishes: 'dropping let_go',
    timer: 'ending kill_harness',
    drain: '=',
    make_room: '=',
    close: '=',
    lease_lost: 'dropping let_go',
    rested: '=',
    work_waiting: '=',
    failure_stored: '=',
    release_refused: '=',
    let_go: '=',
  },
  resting: {
    prepared: '=',
    prepare_failed: '=',
    attached: '=',
    briefed: '=',
    link_lost: '=',
    harness_broken: '=',
    harness_exited: '=',
    events_stored: '=',
    command_sent: '=',
    wishes: 'dropping let_go',
    timer: '=',
    drain: '=',
    make_room: '=',
    close: '=',
    lease_lost: '=',
    rested: 'ended',
    work_waiting: 'starting start_harness',
    failure_stored: '=',
    release_refused: 'ended',
    let_go: '=',
  },
  failing: {
    prepared: '=',
    prepare_failed: '=',
    attached: '=',
    briefed: '=',
    link_lost: '=',
    harness_broken: '=',
    harness_exited: '=',
    events_stored: '=',
    command_sent: '=',
    wishes: 'dropping let_go',
    timer: '=',
    drain: '=',
    make_room: '=',
    close: '=',
    lease_lost: '=',
    rested: '=',
    work_waiting: '=',
    failure_stored: 'ended',
    release_refused: 'ended',
    let_go: '=',
  },
  dropping: {
    prepared: '=',
    prepare_failed: '=',
    attached: '=',
    briefed: '=',
    link_lost: '=',
    harness_broken: '=',
    harness_exited: '=',
    events_stored: '=',
    command_sent: '=',
    wishes: '=',
    timer: '=',
    drain: '=',
    make_room: '=',
    close: '=',
    lease_lost: '=',
    rested: '=',
    work_waiting: '=',
    failure_stored: '=',
    release_refused: '=',
    let_go: 'ended',
  },
  ended: {
    prepared: '=',
    prepare_failed: '=',
    attached: '=',
    briefed: '=',
    link_lost: '=',
    harness_broken: '=',
    harness_exited: '=',
    events_stored: '=',
    command_sent: '=',
    wishes: '=',
    timer: '=',
    drain: '=',
    make_room: '=',
    close: '=',
    lease_lost: '=',
    rested: '=',
    work_waiting: '=',
    failure_stored: '=',
    release_refused: '=',
    let_go: '=',
  },
};

function show(before: RunnerState, step: { state: RunnerState; effects: readonly RunnerEffect[] }): string {
  const effects = step.effects.map((effect) => effect.type);
  if (effects.length === 0 && step.state.status === before.status) return '=';
  return [step.state.status, ...effects].join(' ');
}

describe('the life of a session on a host', () => {
  it.each(Object.entries(states))('takes every input while it is %s', (_status, state) => {
    const row = Object.fromEntries(
      Object.entries(inputs).map(([type, input]) => [type, show(state, stepRunner(state, input, NOW, policy))]),
    );
    expect(row).toEqual(table[state.status]);
  });

  it('does not go to sleep between an attach and its commands, however long the start took', () => {
    const impatient = { ...policy, idleMs: 0, silentMs: 0 };
    const attached = stepRunner(states.starting, inputs.attached, NOW + 60_000, impatient);
    expect(show(states.starting, attached)).toBe('attached');
    expect(nextTimerAt(attached.state, impatient)).toBeUndefined();
    const prompt = { type: 'prompt', prompt_id: 'p', text: 't' } as const;
    const sent = stepRunner(attached.state, { type: 'command_sent', command: prompt }, NOW + 60_000, impatient);
    const briefed = stepRunner(sent.state, inputs.briefed, NOW + 60_000, impatient);
    expect(show(sent.state, briefed)).toBe('=');
    expect(nextTimerAt(briefed.state, impatient)).toBe(NOW + 60_000 + policy.unprovenMs);
  });

  it('starts a dead harness again after a wait, and fails the session when no wait is left', () => {
    let step = stepRunner(states.attached, inputs.harness_exited, NOW, policy);
    expect(show(states.attached, step)).toBe('starting start_harness');
    step = stepRunner(step.state, inputs.harness_exited, NOW, policy);
    expect(step.state).toMatchObject({ status: 'backing_off', until: NOW + 500 });
    step = stepRunner(step.state, inputs.timer, NOW + 500, policy);
    step = stepRunner(step.state, inputs.harness_exited, NOW + 600, policy);
    expect(step.effects).toMatchObject([{ type: 'fail', code: 'harness_lost' }]);
  });

  it('counts tries anew after a completed run or a long life', () => {
    const tired: RunnerState = { ...common, status: 'attached', tries: 2 };
    const done = stepRunner(
      tired,
      { type: 'events_stored', events: [{ type: 'run_completed', run_id: 'r', ok: true }] },
      NOW,
      policy,
    );
    expect(done.state.tries).toBe(0);
    expect(show(tired, stepRunner(tired, inputs.harness_exited, NOW + 60_000, policy))).toBe('starting start_harness');
    expect(show(tired, stepRunner(tired, inputs.harness_exited, NOW + 59_999, policy))).toBe('failing fail');
  });

  it('goes to sleep in the very step that stores the idle report of a waiting question', () => {
    const step = stepRunner(
      states.attached,
      {
        type: 'events_stored',
        events: [
          { type: 'user_question', run_id: 'r', tool_call_id: 't', questions: [] },
          { type: 'run_completed', run_id: 'r', ok: true },
          { type: 'harness_idle' },
        ],
      },
      NOW,
      policy,
    );
    expect(show(states.attached, step)).toBe('ending evict');
  });

  it('says that an answer failed when the harness came to rest without delivering it', () => {
    const answer: RunnerInput = {
      type: 'command_sent',
      command: { type: 'answer_question', tool_call_id: 't', answers: {} },
    };
    const sent = stepRunner(states.attached, answer, NOW, policy).state;
    const idle = stepRunner(sent, inputs.events_stored, NOW, policy);
    expect(show(sent, idle)).toBe('=');
    const late = stepRunner(idle.state, inputs.timer, NOW + policy.unprovenMs, policy);
    expect(late.effects).toEqual([{ type: 'fail_answers', toolCallIds: ['t'] }, { type: 'evict' }]);
    const busy = stepRunner(sent, inputs.timer, NOW + policy.unprovenMs, policy);
    expect(show(sent, busy)).toBe('ending evict');
  });

  it('goes on when work arrived while it was put to sleep, unless the host is going away', () => {
    expect(show(states.resting, stepRunner(states.resting, inputs.work_waiting, NOW, policy))).toBe(
      'starting start_harness',
    );
    const closing: RunnerState = { ...common, status: 'resting', closing: true };
    expect(stepRunner(closing, inputs.work_waiting, NOW, policy).state).toMatchObject({ outcome: 'work_left' });
  });

  it('does not fail a session whose preparation was stopped by the closing host', () => {
    const closing = stepRunner(states.preparing, inputs.close, NOW, policy).state;
    expect(show(closing, stepRunner(closing, inputs.prepare_failed, NOW, policy))).toBe('resting rest');
    expect(show(closing, stepRunner(closing, inputs.prepared, NOW, policy))).toBe('resting rest');
  });

  it('never writes after it lets go, stays ended, and is bounded in its tries', () => {
    const anyInput = fc.constantFrom(...Object.values(inputs));
    fc.assert(
      fc.property(fc.array(fc.tuple(anyInput, fc.nat(40_000)), { maxLength: 60 }), (script) => {
        let state: RunnerState = createRunnerState(common.facts);
        let now = NOW;
        let dropped = false;
        for (const [input, ms] of script) {
          now += ms;
          const before = state;
          const step = stepRunner(state, input, now, policy);
          state = step.state;
          for (const effect of step.effects) {
            if (dropped) expect(effect.type).not.toMatch(/^(rest|fail|evict|start_harness)$/);
            if (effect.type === 'let_go') dropped = true;
          }
          if (before.status === 'ended') expect(state).toBe(before);
          const at = nextTimerAt(state, policy);
          if (state.status === 'backing_off') expect(at).toBeDefined();
          expect(state.tries).toBeLessThanOrEqual(policy.backOffMs.length);
        }
      }),
      { numRuns: 500 },
    );
  });
});
