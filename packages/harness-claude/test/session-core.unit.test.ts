// The session's core where a recorded order of events is enough: deadlines of a held hook, equal
// questions, the agent's newest id, and the proof of a verdict that goes out as a line.

import type { HarnessEvent } from '@engram/harness-proto';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.js';
import { lineUuid } from '../src/prompt-line.js';
import type { ParkedCall, QuestionState } from '../src/question-state.js';
import { NEW_SESSION, type SessionEffect, type SessionInput, type SessionState, step } from '../src/session-core.js';
import { HOOK_TIMEOUT_S } from '../src/settings.js';

const call: ParkedCall = {
  toolCallId: 'q1',
  runId: 'r1',
  questions: [{ question: 'Q?', header: 'H', multi_select: false, options: [] }],
  input: {},
};
const RUNNING: SessionState = {
  ...NEW_SESSION,
  agent: 'live',
  settled: true,
  policyTold: true,
  claudeSessionId: 'c1',
  runs: { ...NEW_SESSION.runs, turn: { status: 'running', runId: 'r1', interrupting: false } },
};

/** All effects of these inputs, and the state after them. */
function play(state: SessionState, ...inputs: SessionInput[]): { state: SessionState; effects: SessionEffect[] } {
  const effects: SessionEffect[] = [];
  let next = state;
  for (const [i, input] of inputs.entries()) {
    const result = step(next, input, `run-${i}`);
    next = result.state;
    effects.push(...result.effects);
  }
  return { state: next, effects };
}

const replies = (effects: readonly SessionEffect[]) =>
  effects.flatMap((effect) => (effect.type === 'reply' ? [[effect.fire.fireId, effect.reply.type]] : []));
const events = (effects: readonly SessionEffect[]): HarnessEvent[] =>
  effects.flatMap((effect) => (effect.type === 'emit' ? [effect.event] : []));
const codes = (effects: readonly SessionEffect[]) =>
  events(effects).flatMap((event) => (event.type === 'notice' ? [event.code] : []));

const started: SessionInput = { type: 'message_started', messageId: 'm1' };
const stopped: SessionInput = { type: 'message_stopped' };
const asks = (toolCallId: string): SessionInput => ({
  type: 'call_seen',
  messageId: 'm1',
  toolCallId,
  toolName: 'AskUserQuestion',
});
const fires = (toolCallId: string, text = 'Q?', labels = ['a', 'b']): SessionInput => ({
  type: 'hook_fired',
  fireId: `f-${toolCallId}`,
  toolCallId,
  input: { questions: [{ question: text, header: 'H', options: labels.map((label) => ({ label })) }] },
});
const denied = (toolCallId: string): SessionInput => ({ type: 'call_result', toolCallId, isError: true, text: 'no' });

describe('a hook that is held', () => {
  it('is denied with a request to ask again at its own deadline, before the CLI would let the call pass (HOOK-03)', () => {
    const { gateMs } = readConfig({});
    expect(gateMs).toBeLessThan(HOOK_TIMEOUT_S * 1000);
    const { state, effects } = play(RUNNING, started, asks('q1'), fires('q1'));
    expect(replies(effects)).toEqual([]);
    expect(effects).toContainEqual({ type: 'set_timer', name: 'gate' });
    const { state: after, effects: late } = play(state, { type: 'timer', name: 'gate' });
    expect(replies(late)).toEqual([['f-q1', 'deny']]);
    expect(after.question.status).toBe('none');
    expect(replies(play(after, stopped).effects)).toEqual([]);
  });

  it('is deferred as soon as its message is over, and told when another hook beats it (HOOK-07)', () => {
    const { state, effects } = play(RUNNING, started, asks('q1'), fires('q1'), stopped);
    expect(replies(effects)).toEqual([['f-q1', 'defer']]);
    const { state: after, effects: beaten } = play(state, denied('q1'));
    expect(after.question.status).toBe('none');
    expect(events(beaten).map((event) => event.type)).toEqual(['notice']);
    expect(codes(beaten)).toEqual(['question_withdrawn']);
  });
});

describe('questions of one message with the same words (AUQ-10)', () => {
  const twice = (...labels: [string[], string[]]) =>
    play(
      RUNNING,
      started,
      asks('q1'),
      asks('q2'),
      fires('q1', 'Pick', labels[0]),
      fires('q2', 'Pick', labels[1]),
      stopped,
    );

  it('of different choices are not put on one card: one is to be asked again, and the user is told', () => {
    const { state, effects } = twice(['a', 'b'], ['c', 'd']);
    const [reply] = effects.filter((effect) => effect.type === 'reply');
    expect(reply).toMatchObject({ fire: { fireId: 'f-q1' }, reply: { type: 'deny', reason: /Ask it again/ } });
    expect(codes(effects)).toEqual(['question_withdrawn']);
    const { state: parked } = play(state, denied('q1'));
    expect(parked.question).toMatchObject({ status: 'deferring', call: { toolCallId: 'q2' } });
    const options = parked.question.status === 'deferring' ? parked.question.call.questions[0]?.options : [];
    expect(options?.map((option) => option.label)).toEqual(['c', 'd']);
  });

  it('of the same choice are one question, and its answer serves both', () => {
    const { state, effects } = twice(['a', 'b'], ['a', 'b']);
    expect(replies(effects)).toEqual([['f-q1', 'deny']]);
    expect(codes(effects)).toEqual([]);
    const { state: parked } = play(state, denied('q1'));
    expect(parked.question).toMatchObject({ status: 'deferring', call: { questions: [{ question: 'Pick' }] } });
  });
});

describe('hooks that cannot start (HOOK-05)', () => {
  const refused = (n: number, tool = 'Bash', words = '[py x]: no such file'): SessionInput => ({
    type: 'call_result',
    toolCallId: `t${n}`,
    isError: true,
    text: `PreToolUse:${tool} hook error: ${words}\n`,
  });
  const stops = (...inputs: SessionInput[]) =>
    play(RUNNING, ...inputs).effects.filter((effect) => effect.type === 'send_interrupt').length;

  it('stop the run when they refuse some calls in a row in the same words, whatever the tool', () => {
    const inputs = [refused(1), refused(2, 'Read'), refused(3), refused(4, 'Edit'), refused(5)];
    expect(stops(...inputs)).toBe(1);
    expect(codes(play(RUNNING, ...inputs).effects)).toEqual(['hook_unhealthy']);
    expect(stops(...inputs.slice(1))).toBe(0);
  });

  it('are not taken for a hook that decides: other words, other errors or a call that works begin anew', () => {
    const fine: SessionInput = { type: 'call_result', toolCallId: 't', isError: false, text: 'done' };
    const failed: SessionInput = { type: 'call_result', toolCallId: 't', isError: true, text: 'no such file' };
    const four = [1, 2, 3, 4].map((n) => refused(n));
    for (const between of [fine, failed, refused(9, 'Bash', '[py x]: another')])
      expect(stops(...four, between, ...four)).toBe(0);
  });
});

it('resumes the newest id that the agent gave its conversation (RES-02)', () => {
  const init = (claudeSessionId: string): SessionInput => ({
    type: 'initialized',
    claudeSessionId,
    hasQuestionTool: true,
  });
  const { state } = play(RUNNING, init('A'), init('B'), { type: 'agent_exited', reason: 'x' });
  const prompt = { type: 'prompt', text: 'go on', prompt_id: 'p1' } as const;
  const { effects } = play(state, { type: 'command', command: prompt });
  expect(effects).toContainEqual({ type: 'start_agent', resume: 'B' });
});

it('gives the same answer again when a killed agent did not keep its result and its hook fires anew', () => {
  const answers = { 'Q?': ['a'] };
  const verdict = { type: 'answer', answers } as const;
  const question: QuestionState = { status: 'answering', call, verdict, route: 'resume', attempts: 0, inDoubt: false };
  const result: SessionInput = { type: 'call_result', toolCallId: 'q1', isError: false, text: '"Q?"="a"' };
  const { state, effects } = play({ ...RUNNING, question }, result, { type: 'agent_exited', reason: 'killed' });
  expect(events(effects).filter((event) => event.type === 'question_answered')).toHaveLength(1);

  const again = play({ ...state, agent: 'live' }, fires('q1'));
  expect(again.effects).toContainEqual({
    type: 'reply',
    fire: { fireId: 'f-q1', channel: 'hook' },
    reply: { type: 'verdict', call, verdict },
  });
  expect(events(again.effects).some((event) => event.type === 'question_answered')).toBe(false);
});

it('opens no run for what the model says past a parked question, and mends its conversation', () => {
  const parking: QuestionState = { status: 'parking', call, route: 'resume', mend: false };
  const ending: SessionState = { ...RUNNING, agent: 'ending', runs: NEW_SESSION.runs, question: parking };
  const { state, effects } = play(
    ending,
    { type: 'message_started', messageId: 'm2' },
    { type: 'message_seen' },
    asks('q2'),
    fires('q2'),
    stopped,
  );
  expect(events(effects)).toEqual([]);
  expect(replies(effects)).toEqual([['f-q2', 'deny']]);
  expect(state.question).toMatchObject({ status: 'parking', mend: true });
});

describe('a verdict that goes out as a line', () => {
  const verdict = { type: 'answer', answers: { 'Q?': ['a'] } } as const;
  const line = { type: 'verdict', toolCallId: 'q1' } as const;
  const sent: SessionState = {
    ...RUNNING,
    question: { status: 'answering', call, verdict, route: 'message', attempts: 0, inDoubt: false },
    runs: { ...NEW_SESSION.runs, turn: { status: 'sent', line, interruptWanted: false } },
  };
  const ended: SessionInput = {
    type: 'turn_result',
    ok: true,
    poisoned: false,
    unknownSession: false,
    toolUnavailable: false,
    empty: false,
  };
  const fired: SessionInput = { type: 'hook_fired', fireId: 'f', toolCallId: 'q1', input: {} };

  it('is not delivered by the turn of a hook that came too late, but by the turn that takes the line', () => {
    const { state, effects } = play(sent, fired, denied('q1'), started, { type: 'message_seen' }, stopped, ended);
    expect(replies(effects)).toEqual([['f', 'deny']]);
    expect(events(effects)).toEqual([]);
    expect(state.question.status).toBe('answering');
    const next = play(
      state,
      { type: 'message_started', messageId: 'm2' },
      { type: 'line_taken', uuid: lineUuid(line) },
    );
    expect(events(next.effects).map((event) => event.type)).toEqual(['run_started', 'question_answered']);
    expect(next.state.question.status).toBe('none');
  });

  it('is not delivered by the echo of another line', () => {
    expect(play(sent, { type: 'line_taken', uuid: 'other' }).state.question.status).toBe('answering');
  });

  it('is given to another agent when this one never takes it', () => {
    const { state, effects } = play(sent, { type: 'timer', name: 'hook_silent' });
    expect(effects).toContainEqual({ type: 'end_agent' });
    const { effects: after } = play(state, { type: 'agent_exited', reason: 'x' });
    expect(after).toContainEqual({ type: 'check_line', line });
  });
});
