// Every state of a question against every input: the compiler finds a missing cell.

import { describe, expect, it } from 'vitest';
import { recoverQuestion, stepQuestion } from '../src/question-core.js';
import {
  ATTEMPTS_BY_RESUME,
  ATTEMPTS_IN_ALL,
  openCall,
  type ParkedCall,
  type QuestionInput,
  type QuestionState,
  type QuestionStatus,
} from '../src/question-state.js';

const call: ParkedCall = {
  toolCallId: 'q1',
  runId: 'r1',
  questions: [{ question: 'Q?', header: 'H', multi_select: false, options: [] }],
  input: {},
};
const other: ParkedCall = { ...call, toolCallId: 'q2' };
const answers = { 'Q?': ['a'] };
const fire = { fireId: 'f', channel: 'hook' } as const;
const verdict = { type: 'answer', answers } as const;

type Cell = readonly [QuestionStatus, ...string[]];
type InputName = keyof typeof inputs;

const inputs = {
  gate_opened: { type: 'gate_opened', call: other, fireId: 'g' },
  held: { type: 'held', call: other, fire, holdMs: 5 },
  narrated: { type: 'narrated' },
  turn_deferred: { type: 'turn_deferred', toolCallId: 'q1', interrupted: false, poisoned: false },
  turn_deferred_interrupted: { type: 'turn_deferred', toolCallId: 'q1', interrupted: true, poisoned: false },
  turn_deferred_other: { type: 'turn_deferred', toolCallId: 'q9', interrupted: false, poisoned: false },
  turn_ended: { type: 'turn_ended' },
  parked: { type: 'parked', resumable: true },
  parked_dead: { type: 'parked', resumable: false },
  fired: { type: 'fired', toolCallId: 'q1', fire },
  fired_other: { type: 'fired', toolCallId: 'q9', fire },
  fire_lost: { type: 'fire_lost', fireId: 'f' },
  result_carries: { type: 'call_result', toolCallId: 'q1', carries: true, runId: 'r2' },
  result_empty: { type: 'call_result', toolCallId: 'q1', carries: false, runId: 'r2' },
  result_other: { type: 'call_result', toolCallId: 'q9', carries: true, runId: 'r2' },
  heard: { type: 'heard' },
  message_taken: { type: 'message_taken', runId: 'r2' },
  resume_failed: { type: 'resume_failed' },
  agent_exited: { type: 'agent_exited' },
  checked_carries: { type: 'answer_checked', carries: true, runId: 'r2' },
  checked_empty: { type: 'answer_checked', carries: false, runId: 'r2' },
  answer: { type: 'answer', toolCallId: 'q1', answers },
  answer_other: { type: 'answer', toolCallId: 'q9', answers },
  dismiss: { type: 'dismiss', toolCallId: 'q1', reason: 'declined' },
  dismiss_interrupted: { type: 'dismiss', toolCallId: 'q1', reason: 'interrupted' },
  prompt: { type: 'prompt', promptId: 'p1', text: 'words' },
  interrupt: { type: 'interrupt' },
  set_aside: { type: 'set_aside' },
  attend: { type: 'attend', toolCallId: 'q1', holdMs: 1000 },
  attend_release: { type: 'attend', toolCallId: 'q1', holdMs: 0 },
  hold_ended: { type: 'hold_ended' },
  closed_elsewhere: { type: 'closed_elsewhere', toolCallId: 'q1' },
  unknown_elsewhere: { type: 'unknown_elsewhere' },
  adopted: { type: 'adopted', call: other },
} as const satisfies Record<string, QuestionInput>;

const states = {
  none: { status: 'none' },
  held: { status: 'held', call, fire },
  deferring: { status: 'deferring', call, poisoned: false },
  parking: { status: 'parking', call, route: 'resume', mend: false },
  waiting: { status: 'waiting', call, route: 'resume' },
  attending: { status: 'attending', call, fire },
  denial_owed: { status: 'denial_owed', call, route: 'resume', reason: 'interrupted' },
  answering: { status: 'answering', call, verdict, route: 'resume', attempts: 0, inDoubt: false },
  told: { status: 'told', call, verdict, runId: 'r2', attempts: 0 },
} as const satisfies Record<QuestionStatus, QuestionState>;

const none: Cell = ['none'];
const held: Cell = ['held'];
const deferring: Cell = ['deferring'];
const parking: Cell = ['parking'];
const waiting: Cell = ['waiting'];
const attending: Cell = ['attending'];
const owed: Cell = ['denial_owed'];
const answering: Cell = ['answering'];
const told: Cell = ['told'];

const table: Record<QuestionStatus, Record<InputName, Cell>> = {
  none: {
    gate_opened: ['deferring', 'reply:defer'],
    held: ['held', 'emit', 'start_hold'],
    narrated: none,
    turn_deferred: none,
    turn_deferred_interrupted: none,
    turn_deferred_other: none,
    turn_ended: none,
    parked: none,
    parked_dead: none,
    fired: none,
    fired_other: none,
    fire_lost: none,
    result_carries: none,
    result_empty: none,
    result_other: none,
    heard: none,
    message_taken: none,
    resume_failed: none,
    agent_exited: none,
    checked_carries: none,
    checked_empty: none,
    answer: none,
    answer_other: none,
    dismiss: none,
    dismiss_interrupted: none,
    prompt: none,
    interrupt: none,
    set_aside: none,
    attend: none,
    attend_release: none,
    hold_ended: none,
    closed_elsewhere: none,
    unknown_elsewhere: none,
    adopted: ['parking', 'check_marker'],
  },
  held: {
    gate_opened: ['held', 'reply:deny'],
    held: held,
    narrated: held,
    turn_deferred: ['none', 'settled_in_run'],
    turn_deferred_interrupted: ['none', 'settled_in_run'],
    turn_deferred_other: ['none', 'settled_in_run'],
    turn_ended: ['none', 'settled_in_run'],
    parked: held,
    parked_dead: held,
    fired: held,
    fired_other: held,
    fire_lost: held,
    result_carries: ['none', 'settled_in_run'],
    result_empty: ['none', 'settled_in_run'],
    result_other: held,
    heard: held,
    message_taken: held,
    resume_failed: held,
    agent_exited: ['none', 'settled_in_run'],
    checked_carries: held,
    checked_empty: held,
    answer: ['held', 'reply:verdict'],
    answer_other: held,
    dismiss: ['held', 'reply:verdict'],
    dismiss_interrupted: ['held', 'reply:verdict'],
    prompt: held,
    interrupt: held,
    set_aside: held,
    attend: held,
    attend_release: held,
    hold_ended: ['none', 'reply:deny', 'settled_in_run'],
    closed_elsewhere: held,
    unknown_elsewhere: held,
    adopted: held,
  },
  deferring: {
    gate_opened: ['deferring', 'reply:deny'],
    held: deferring,
    narrated: deferring,
    turn_deferred: ['parking', 'emit', 'end_agent'],
    turn_deferred_interrupted: ['parking', 'end_agent'],
    turn_deferred_other: none,
    turn_ended: none,
    parked: deferring,
    parked_dead: deferring,
    fired: deferring,
    fired_other: deferring,
    fire_lost: deferring,
    result_carries: ['none', 'overruled'],
    result_empty: ['none', 'overruled'],
    result_other: deferring,
    heard: deferring,
    message_taken: deferring,
    resume_failed: deferring,
    agent_exited: ['deferring', 'check_deferred'],
    checked_carries: deferring,
    checked_empty: deferring,
    answer: deferring,
    answer_other: deferring,
    dismiss: deferring,
    dismiss_interrupted: deferring,
    prompt: deferring,
    interrupt: deferring,
    set_aside: deferring,
    attend: deferring,
    attend_release: deferring,
    hold_ended: deferring,
    closed_elsewhere: deferring,
    unknown_elsewhere: deferring,
    adopted: deferring,
  },
  parking: {
    gate_opened: ['parking', 'reply:deny'],
    held: parking,
    narrated: parking,
    turn_deferred: ['parking', 'end_agent'],
    turn_deferred_interrupted: ['parking', 'end_agent'],
    turn_deferred_other: ['parking', 'end_agent'],
    turn_ended: parking,
    parked: waiting,
    parked_dead: waiting,
    fired: parking,
    fired_other: parking,
    fire_lost: parking,
    result_carries: parking,
    result_empty: parking,
    result_other: parking,
    heard: parking,
    message_taken: parking,
    resume_failed: parking,
    agent_exited: ['parking', 'check_marker'],
    checked_carries: parking,
    checked_empty: parking,
    answer: parking,
    answer_other: parking,
    dismiss: parking,
    dismiss_interrupted: parking,
    prompt: parking,
    interrupt: parking,
    set_aside: parking,
    attend: parking,
    attend_release: parking,
    hold_ended: ['parking', 'end_agent'],
    closed_elsewhere: parking,
    unknown_elsewhere: ['parking', 'emit'],
    adopted: parking,
  },
  waiting: {
    gate_opened: ['waiting', 'reply:deny'],
    held: waiting,
    narrated: waiting,
    turn_deferred: waiting,
    turn_deferred_interrupted: waiting,
    turn_deferred_other: waiting,
    turn_ended: waiting,
    parked: waiting,
    parked_dead: waiting,
    fired: waiting,
    fired_other: waiting,
    fire_lost: waiting,
    result_carries: waiting,
    result_empty: waiting,
    result_other: waiting,
    heard: waiting,
    message_taken: waiting,
    resume_failed: waiting,
    agent_exited: waiting,
    checked_carries: waiting,
    checked_empty: waiting,
    answer: answering,
    answer_other: waiting,
    dismiss: answering,
    dismiss_interrupted: owed,
    prompt: answering,
    interrupt: owed,
    set_aside: waiting,
    attend: ['attending', 'start_hold'],
    attend_release: waiting,
    hold_ended: waiting,
    closed_elsewhere: owed,
    unknown_elsewhere: ['waiting', 'emit'],
    adopted: waiting,
  },
  attending: {
    gate_opened: ['attending', 'reply:deny'],
    held: attending,
    narrated: attending,
    turn_deferred: attending,
    turn_deferred_interrupted: attending,
    turn_deferred_other: attending,
    turn_ended: attending,
    parked: attending,
    parked_dead: attending,
    fired: attending,
    fired_other: attending,
    fire_lost: attending,
    result_carries: attending,
    result_empty: attending,
    result_other: attending,
    heard: attending,
    message_taken: attending,
    resume_failed: ['parking', 'end_agent'],
    agent_exited: waiting,
    checked_carries: attending,
    checked_empty: attending,
    answer: ['answering', 'reply:verdict'],
    answer_other: attending,
    dismiss: ['answering', 'reply:verdict'],
    dismiss_interrupted: ['parking', 'reply:defer', 'start_hold'],
    prompt: ['answering', 'reply:verdict'],
    interrupt: ['parking', 'reply:defer', 'start_hold'],
    set_aside: attending,
    attend: ['attending', 'start_hold'],
    attend_release: ['parking', 'reply:defer', 'start_hold'],
    hold_ended: ['parking', 'reply:defer', 'start_hold'],
    closed_elsewhere: ['parking', 'reply:defer', 'start_hold'],
    unknown_elsewhere: ['attending', 'emit'],
    adopted: attending,
  },
  denial_owed: {
    gate_opened: ['denial_owed', 'reply:deny'],
    held: owed,
    narrated: owed,
    turn_deferred: owed,
    turn_deferred_interrupted: owed,
    turn_deferred_other: owed,
    turn_ended: owed,
    parked: owed,
    parked_dead: owed,
    fired: owed,
    fired_other: owed,
    fire_lost: owed,
    result_carries: owed,
    result_empty: owed,
    result_other: owed,
    heard: owed,
    message_taken: owed,
    resume_failed: owed,
    agent_exited: owed,
    checked_carries: owed,
    checked_empty: owed,
    answer: answering,
    answer_other: owed,
    dismiss: answering,
    dismiss_interrupted: owed,
    prompt: answering,
    interrupt: owed,
    set_aside: owed,
    attend: owed,
    attend_release: owed,
    hold_ended: owed,
    closed_elsewhere: owed,
    unknown_elsewhere: owed,
    adopted: owed,
  },
  answering: {
    gate_opened: ['answering', 'reply:deny'],
    held: answering,
    narrated: answering,
    turn_deferred: answering,
    turn_deferred_interrupted: answering,
    turn_deferred_other: answering,
    turn_ended: answering,
    parked: answering,
    parked_dead: answering,
    fired: ['answering', 'reply:verdict'],
    fired_other: answering,
    fire_lost: answering,
    result_carries: ['told', 'delivered'],
    result_empty: answering,
    result_other: answering,
    heard: answering,
    message_taken: answering,
    resume_failed: answering,
    agent_exited: ['answering', 'check_answer'],
    checked_carries: answering,
    checked_empty: answering,
    answer: answering,
    answer_other: answering,
    dismiss: answering,
    dismiss_interrupted: answering,
    prompt: answering,
    interrupt: answering,
    set_aside: answering,
    attend: answering,
    attend_release: answering,
    hold_ended: answering,
    closed_elsewhere: answering,
    unknown_elsewhere: answering,
    adopted: answering,
  },
  told: {
    gate_opened: ['told', 'reply:deny'],
    held: told,
    narrated: told,
    turn_deferred: told,
    turn_deferred_interrupted: told,
    turn_deferred_other: told,
    turn_ended: none,
    parked: told,
    parked_dead: told,
    fired: ['told', 'reply:verdict'],
    fired_other: told,
    fire_lost: told,
    result_carries: told,
    result_empty: told,
    result_other: told,
    heard: none,
    message_taken: told,
    resume_failed: told,
    agent_exited: ['told', 'check_answer'],
    checked_carries: none,
    checked_empty: answering,
    answer: told,
    answer_other: told,
    dismiss: told,
    dismiss_interrupted: told,
    prompt: told,
    interrupt: told,
    set_aside: told,
    attend: told,
    attend_release: told,
    hold_ended: told,
    closed_elsewhere: told,
    unknown_elsewhere: told,
    adopted: told,
  },
};

const statuses = Object.values(states).map((state) => state.status);
const names = Object.keys(inputs).filter((name): name is InputName => name in inputs);

describe('the question core', () => {
  for (const status of statuses) {
    it.each(names)(`${status} on %s`, (name) => {
      const { state, effects } = stepQuestion(states[status], inputs[name]);
      const then = effects.map((effect) => (effect.type === 'reply' ? `reply:${effect.reply.type}` : effect.type));
      expect([state.status, ...then]).toEqual(table[status][name]);
    });
  }

  it('leaves answering by the proof alone, whatever else comes', () => {
    for (const route of ['resume', 'message'] as const) {
      const state: QuestionState = { status: 'answering', call, verdict, route, attempts: 0, inDoubt: false };
      const leaving = names.filter((name) => stepQuestion(state, inputs[name]).state.status !== 'answering');
      expect(leaving).toEqual([route === 'resume' ? 'result_carries' : 'message_taken']);
    }
  });

  it('goes by message when the resumed call brings a result that carries nothing', () => {
    const { state } = stepQuestion(states.answering, inputs.result_empty);
    expect(state).toMatchObject({ status: 'answering', route: 'message' });
    expect(stepQuestion(state, inputs.message_taken).state.status).toBe('none');
  });

  it('finds the proof in the transcript when the stream could not bring it', () => {
    const { state } = stepQuestion(states.answering, inputs.agent_exited);
    expect(stepQuestion(state, inputs.checked_empty).state).toMatchObject({ status: 'answering', inDoubt: false });
    const { state: after, effects } = stepQuestion(state, inputs.checked_carries);
    expect(after.status).toBe('none');
    expect(effects).toMatchObject([{ type: 'delivered', verdict, runId: 'r2' }]);
  });

  it('tells a verdict again that was lost with its process, in the run that the log has open', () => {
    const { state } = stepQuestion(stepQuestion(states.told, inputs.agent_exited).state, inputs.checked_empty);
    const again = { runId: 'r2', interrupted: false };
    expect(state).toMatchObject({ status: 'answering', route: 'resume', attempts: 1, again });
    const { state: retold, effects } = stepQuestion(state, { ...inputs.result_carries, runId: 'r9' });
    expect(effects).toMatchObject([{ type: 'delivered', runId: 'r2', again }]);
    expect(retold).toMatchObject({ status: 'told', runId: 'r2', attempts: 1 });
    const { state: stopped } = stepQuestion(state, inputs.interrupt);
    expect(stepQuestion(stopped, inputs.result_carries).effects).toMatchObject([{ again: { interrupted: true } }]);
  });

  it('gives up visibly on a verdict that is lost with every process, and is free for the next question', () => {
    let state: QuestionState = states.told;
    const effects: string[] = [];
    for (let i = 0; i < ATTEMPTS_IN_ALL && state.status !== 'none'; i += 1) {
      const lost = stepQuestion(stepQuestion(state, inputs.agent_exited).state, inputs.checked_empty);
      effects.push(...lost.effects.map((effect) => effect.type));
      state = lost.state.status === 'answering' ? { ...states.told, attempts: lost.state.attempts } : lost.state;
    }
    expect([state.status, ...effects]).toEqual(['none', 'give_up']);
    const again: QuestionState = { ...states.answering, again: { runId: 'r2', interrupted: false } };
    expect(stepQuestion(again, inputs.set_aside)).toMatchObject({
      state: { status: 'none' },
      effects: [{ type: 'give_up' }],
    });
  });

  it('denies a late hook when the message is on its way: one delivery, not two', () => {
    const state: QuestionState = { status: 'answering', call, verdict, route: 'message', attempts: 0, inDoubt: false };
    const { effects } = stepQuestion(state, inputs.fired);
    expect(effects).toMatchObject([{ type: 'reply', reply: { type: 'deny' } }]);
  });

  it('mends the transcript when the agent went on while it was ended', () => {
    const { state } = stepQuestion(states.parking, inputs.narrated);
    expect(stepQuestion(state, inputs.agent_exited).effects).toMatchObject([{ type: 'check_marker', mend: true }]);
  });

  it('goes by message after some agents that died, and gives up visibly after some more', () => {
    let state: QuestionState = states.answering;
    const effects: string[] = [];
    for (let i = 1; i <= ATTEMPTS_IN_ALL; i += 1) {
      const step = stepQuestion(state, inputs.agent_exited);
      state = step.state;
      effects.push(...step.effects.map((effect) => effect.type));
      if (i < ATTEMPTS_BY_RESUME) expect(state).toMatchObject({ inDoubt: true });
      if (i === ATTEMPTS_BY_RESUME) expect(state).toMatchObject({ route: 'message' });
    }
    expect(state.status).toBe('answering');
    expect(effects).toEqual(['check_answer', 'check_answer', 'check_answer', 'give_up']);
    expect(stepQuestion(state, inputs.answer).state).toMatchObject({ attempts: 0 });
  });

  it('keeps an answer that comes while the agent ends, and delivers it afterwards', () => {
    const { state } = stepQuestion(states.parking, inputs.answer);
    expect(openCall(state)).toBeUndefined();
    expect(stepQuestion(state, inputs.prompt).state).toBe(state);
    expect(stepQuestion(state, inputs.parked).state).toMatchObject({ status: 'answering', verdict });
  });

  it('brings the words of the next prompt along with a denial that is owed after an interrupt', () => {
    const { state } = stepQuestion(states.denial_owed, inputs.prompt);
    expect(state).toMatchObject({
      verdict: { type: 'denied_then_prompt', reason: 'interrupted', promptId: 'p1', text: 'words' },
    });
  });

  it('parks an interrupted question with a closed card', () => {
    const { state } = stepQuestion(states.deferring, inputs.turn_deferred_interrupted);
    expect(openCall(state)).toBeUndefined();
    expect(stepQuestion(state, inputs.parked).state.status).toBe('denial_owed');
  });

  it('mends the transcript of a question the model narrated past', () => {
    const { state } = stepQuestion(stepQuestion(states.deferring, inputs.narrated).state, inputs.turn_deferred);
    expect(state).toMatchObject({ status: 'parking', mend: true });
    expect(stepQuestion(state, inputs.parked_dead).state).toMatchObject({ status: 'waiting', route: 'message' });
  });

  it('settles a held question within its run, and owes what the agent did not get', () => {
    const { state } = stepQuestion(states.held, inputs.answer);
    expect(openCall(state)).toBeUndefined();
    expect(stepQuestion(state, inputs.answer).effects).toEqual([]);
    const settled = stepQuestion(state, inputs.result_carries);
    expect(settled).toMatchObject({ state: { status: 'none' }, effects: [{ type: 'settled_in_run', verdict }] });
    expect(stepQuestion(state, inputs.result_empty).state).toMatchObject({ status: 'answering', route: 'message' });
    expect(stepQuestion(state, inputs.agent_exited).state).toMatchObject({ status: 'answering', inDoubt: true });
  });

  it('comes out of a crash with what it owed', () => {
    const after = (status: QuestionStatus) => {
      const { state, effects } = recoverQuestion(states[status]);
      return [state.status, ...effects.map((effect) => effect.type)];
    };
    expect(statuses.map(after)).toEqual([
      ['none'],
      ['none', 'settled_in_run'],
      ['deferring', 'check_deferred'],
      ['parking', 'check_marker'],
      ['waiting'],
      ['waiting'],
      ['denial_owed'],
      ['answering', 'check_answer'],
      ['told', 'check_answer'],
    ]);
  });
});
