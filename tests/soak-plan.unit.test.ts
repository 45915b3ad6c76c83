// The soak's own logic: its schedules can be played again, and its checker sees what it is there to see.

import { describe, expect, it } from 'vitest';
import { checkRound } from '../soak/check.mjs';
import { KINDS, planReplay, planRound, planRun, STACK_FAULTS } from '../soak/schedule.mjs';

describe('a schedule', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(planRun('7', 12, 4)).toEqual(planRun('7', 12, 4));
    expect(planRun('7', 12, 4)).not.toEqual(planRun('8', 12, 4));
  });

  it('gives a round the same plan however many are played, and replays it with its group', () => {
    const inRun = planRun('7', 40, 4).find((group) => group.rounds.some(({ round }) => round === 22));
    expect(planReplay('7', 22, 4)).toEqual(inRun);
    expect(inRun?.rounds.find(({ round }) => round === 22)).toEqual(planRound('7', 22));
  });

  it('holds every ingredient within a few hundred rounds', () => {
    const groups = planRun('ingredients', 400, 4);
    const rounds = groups.flatMap((group) => group.rounds);
    expect(new Set(rounds.map(({ kind }) => kind))).toEqual(new Set(KINDS));
    expect(new Set(groups.flatMap(({ faults }) => faults.map(({ what }) => what)))).toEqual(new Set(STACK_FAULTS));
    expect(new Set(rounds.flatMap(({ faults }) => faults.map(({ target }) => target)))).toEqual(
      new Set(['agent', 'harness']),
    );
    expect(new Set(rounds.flatMap(({ cards }) => cards.map(({ act }) => act)))).toEqual(
      new Set(['answer', 'dismiss', 'supersede', 'interrupt', 'attend', 'leave']),
    );
    expect(new Set(rounds.flatMap(({ extras }) => extras.map((extra) => extra.do)))).toEqual(
      new Set(['prompt', 'interrupt', 'sleep', 'wake']),
    );
  });
});

const PROMPT = 'Please do what is asked here. [[SOAK:r1p1]]';
const CALL = 'toolu_soak_r1p1q1_x';
const QUESTION = 'Which colour for r1p1q1?';
const ANSWERS = { [QUESTION]: ['Red r1p1q1'] };

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

const EVENTS: readonly Event[] = [
  { type: 'session_created' },
  { type: 'prompt_received', prompt_id: 'p', text: PROMPT },
  { type: 'run_started', run_id: 'one', prompt_id: 'p' },
  { type: 'user_question', run_id: 'one', tool_call_id: CALL, questions: [{ question: QUESTION }] },
  { type: 'run_completed', run_id: 'one', ok: true },
  { type: 'answer_submitted', tool_call_id: CALL, answers: ANSWERS },
  { type: 'run_started', run_id: 'two' },
  { type: 'question_answered', run_id: 'two', tool_call_id: CALL, answers: ANSWERS },
  { type: 'run_completed', run_id: 'two', ok: true },
];
const ANSWERED = `Your questions have been answered: "${QUESTION}"="Red r1p1q1".`;

const toRequest = (n: number, step: number, outcome: string, results: readonly string[]) => ({
  n,
  arg: 'r1p1',
  step,
  outcome,
  tools: ['AskUserQuestion'],
  messages: [
    { role: 'user', blocks: [{ type: 'text', text: PROMPT }] },
    ...results.map((content) => ({
      role: 'user',
      blocks: [{ type: 'tool_result', tool_use_id: CALL, is_error: false, content }],
    })),
  ],
});

/** A round in which all went well, with what the test changes. */
function facts(change: { events?: readonly Event[]; results?: readonly string[]; more?: object } = {}) {
  const events = (change.events ?? EVENTS).map((event, at) => ({ idx: at + 1, ...event }));
  const acts: readonly object[] = [
    { kind: 'prompt', key: 'r1p1', status: 201 },
    { kind: 'answer', call: CALL, tokens: ['Red r1p1q1'], answers: ANSWERS, status: 202 },
  ];
  return {
    plan: { tag: 'r1', kind: 'one', followUps: [] },
    acts,
    events,
    session: { status: 'idle', running: false, awaiting: [], last_event_idx: events.length },
    left: [],
    settled: true,
    agents: 0,
    requests: [toRequest(1, 0, 'tool_use', []), toRequest(2, 1, 'end_turn', change.results ?? [ANSWERED])],
    problems: [],
    ...change.more,
  };
}

const classesOf = (given: ReturnType<typeof facts>) => [...new Set(checkRound(given).map((finding) => finding.class))];
const without = (type: string) => EVENTS.filter((event) => event.type !== type);

describe('the checker', () => {
  it('finds nothing when all went well', () => {
    expect(checkRound(facts())).toEqual([]);
  });

  it('sees an answer that never reached the model, although the log says so', () => {
    expect(classesOf(facts({ results: ['nothing'] }))).toEqual(['lost']);
  });

  it('sees an answer that reached the model twice', () => {
    expect(classesOf(facts({ results: [ANSWERED, 'Question: …\nAnswer: Red r1p1q1'] }))).toEqual(['double']);
  });

  it('sees an answer that is stored and then forgotten', () => {
    expect(classesOf(facts({ events: without('question_answered') }))).toEqual(['lost']);
  });

  it('sees what the model was told and no longer knows, unless the log says that this run is forgotten', () => {
    const asked = toRequest(1, 0, 'tool_use', []);
    const requests = [
      asked,
      toRequest(2, 1, 'end_turn', [ANSWERED]),
      { ...toRequest(3, 0, 'end_turn', []), messages: [] },
    ];
    expect(classesOf(facts({ more: { requests } }))).toEqual(['lost']);
    const forgot = (run_id: string) => ({ type: 'notice', code: 'run_forgotten', run_id });
    const runs = EVENTS.flatMap((event) => (event.type === 'run_started' ? [String(event.run_id)] : []));
    expect(classesOf(facts({ events: [...EVENTS, ...runs.map(forgot)], more: { requests } }))).toEqual([]);
    expect(classesOf(facts({ events: [...EVENTS, forgot('another')], more: { requests } }))).toEqual(['lost']);
  });

  it('takes an answer that visibly failed for what it is', () => {
    const failed = EVENTS.map((event) =>
      event.type === 'question_answered' ? { type: 'answer_failed', tool_call_id: CALL } : event,
    );
    expect(checkRound(facts({ events: failed, results: [] }))).toEqual([]);
  });

  it('sees a prompt that ran twice and one that never ran', () => {
    const again = [...EVENTS, { type: 'run_started', run_id: 'three', prompt_id: 'p' }];
    const ended = [...again, { type: 'run_completed', run_id: 'three', ok: true }];
    expect(classesOf(facts({ events: ended }))).toEqual(['double']);
    const never = EVENTS.map((event) => (event.type === 'run_started' ? { ...event, prompt_id: undefined } : event));
    expect(classesOf(facts({ events: never }))).toEqual(['lost']);
  });

  it('sees a second card, a second closing and a gap in the numbering', () => {
    const card = EVENTS.find((event) => event.type === 'user_question') ?? { type: 'user_question' };
    expect(classesOf(facts({ events: [...EVENTS, card] }))).toContain('double');
    const closing = { type: 'question_dismissed', tool_call_id: CALL, reason: 'superseded' };
    expect(classesOf(facts({ events: [...EVENTS, closing] }))).toEqual(['double']);
    expect(classesOf(facts({ events: EVENTS.map((event, at) => ({ ...event, idx: at + 2 })) }))).toEqual(['gap']);
  });

  it('sees a question that the model asked and nobody saw', () => {
    const events = EVENTS.slice(0, 3).concat({ type: 'run_completed', run_id: 'one', ok: true });
    const asked = facts({ events, more: { acts: [{ kind: 'prompt', key: 'r1p1', status: 201 }] } });
    expect(classesOf(asked)).toEqual(['swallowed']);
    const failed = events.map((event) => (event.type === 'run_completed' ? { ...event, ok: false } : event));
    expect(checkRound({ ...asked, events: failed.map((event, at) => ({ idx: at + 1, ...event })) })).toEqual([]);
  });

  it('sees records of what nobody did', () => {
    for (const words of ["The user doesn't want to proceed with this tool use.", '[Request interrupted by user]']) {
      expect(classesOf(facts({ results: [ANSWERED, words] }))).toEqual(['false']);
    }
    expect(classesOf(facts({ results: [`${ANSWERED} [Tool result missing due to internal error]`] }))).toEqual([
      'false',
    ]);
  });

  it('sees a session that does not come to rest, and a process that should not be there', () => {
    expect(classesOf(facts({ more: { settled: false } }))).toEqual(['stuck']);
    expect(classesOf(facts({ more: { agents: 1 } }))).toEqual(['stuck']);
  });

  it('sees a refused answer that was told to the model all the same', () => {
    const refused = { kind: 'answer', call: CALL, tokens: ['Blue r1p1q1'], answers: {}, status: 409 };
    const given = facts({ results: [`${ANSWERED} Blue r1p1q1`] });
    expect(classesOf({ ...given, acts: [...given.acts, refused] })).toEqual(['false']);
  });
});
