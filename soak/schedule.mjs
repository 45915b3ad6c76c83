// What is played in a round, drawn from the seed. Pure: the same seed, round and group size give the same
// schedule. A round is one session: a scenario, what a person does with each card, and what is killed
// when. Rounds are played in groups on one stack; what is done to the stack hits all of its group.

import { createRandom } from './random.mjs';

export const KINDS = ['one', 'row', 'pair', 'bash', 'bash-first', 'write', 'plain', 'slow'];
export const STACK_FAULTS = ['serve', 'host', 'postgres', 'up', 'all', 'stop', 'harnesses', 'agents', 'stall', 'links'];

/** Events at whose sight something is done; all of them come in an ordinary life of a question. */
const MOMENTS = [
  'run_started',
  'user_question',
  'run_completed',
  'answer_submitted',
  'answer_submitted',
  'question_answered',
  'question_answered',
  'status_changed',
];

export function planRound(seed, round) {
  const random = createRandom('round', seed, round);
  const kind = random.weighted([
    [26, 'one'],
    [16, 'row'],
    [14, 'pair'],
    [12, 'bash'],
    [8, 'bash-first'],
    [12, 'write'],
    [5, 'plain'],
    [7, 'slow'],
  ]);
  return {
    round,
    tag: `r${round}`,
    kind,
    startMs: random.whole(0, 1200),
    pace: random.weighted([
      [6, {}],
      [2, { beforeDelta: random.whole(50, 500), beforeStop: random.whole(50, 500) }],
      [1, { beforeStart: random.whole(50, 800) }],
      [1, { chunk: 12, delay: random.whole(5, 25) }],
    ]),
    cards: [planCard(random), planCard(random), planCard(random)],
    /** What each later prompt of the session makes the model do. */
    followUps: Array.from({ length: 4 }, () =>
      random.weighted([
        [6, 'plain'],
        [3, 'one'],
        [1, 'slow'],
      ]),
    ),
    extras: planExtras(random),
    faults: planFaults(random),
    /** One more prompt at the end, after a sleep, although nothing went wrong. */
    lastWord: random.chance(0.35),
  };
}

/** When it is done: at once, when the session sleeps, while it is woken, or when the stack is down. */
const planWait = (random) =>
  random.weighted([
    [5, { until: 'now', delayMs: random.whole(0, 1500) }],
    [6, { until: 'asleep', delayMs: random.whole(0, 600) }],
    [2, { until: 'waking', delayMs: random.whole(0, 1500) }],
    [3, { until: 'down', delayMs: random.whole(0, 300) }],
  ]);

function planCard(random) {
  const wait = planWait(random);
  const form = random.pick(['label', 'label', 'words', 'labels']);
  const answer = { act: 'answer', wait, form };
  return random.weighted([
    [10, answer],
    [5, { ...answer, repeats: random.whole(1, 2), gapMs: random.whole(0, 900) }],
    [4, { ...answer, clash: true, gapMs: random.whole(0, 60) }],
    [3, { ...answer, late: true, gapMs: random.whole(0, 2500) }],
    [3, { act: 'dismiss', wait, reason: random.chance(0.6) }],
    [2, { act: 'dismiss', wait, reason: true, clash: true, gapMs: random.whole(0, 60) }],
    [5, { act: 'supersede', wait }],
    [3, { act: 'interrupt', wait, promptAfterMs: random.chance(0.75) ? random.whole(0, 1500) : undefined }],
    [
      5,
      {
        act: 'attend',
        wait,
        holdMs: random.whole(100, 2500),
        next: random.pick(['answer', 'dismiss', 'supersede']),
        form,
      },
    ],
    [4, { act: 'attend', wait, holdMs: 'abandon', next: 'answer', form }],
    [1, { act: 'attend', wait, holdMs: random.whole(100, 2500), next: 'interrupt', form }],
    [2, { act: 'leave' }],
  ]);
}

const planMoment = (random) => {
  const delayMs = random.chance(0.5) ? random.whole(0, 250) : random.whole(0, 1400);
  const nth = random.weighted([
    [7, 1],
    [3, 2],
    [1, 3],
  ]);
  return random.chance(0.4) ? { on: 'request', nth, delayMs } : { on: random.pick(MOMENTS), nth, delayMs };
};

function planExtras(random) {
  const extras = [];
  if (random.chance(0.25)) extras.push({ do: 'prompt', at: planMoment(random) });
  if (random.chance(0.12)) extras.push({ do: 'interrupt', at: planMoment(random) });
  if (random.chance(0.1)) extras.push({ do: random.pick(['sleep', 'wake']), at: planMoment(random) });
  return extras;
}

function planFaults(random) {
  const faults = [];
  const one = () => {
    const target = random.weighted([
      [5, 'agent'],
      [4, 'harness'],
    ]);
    const stallMs = random.chance(0.15) ? random.whole(200, 2500) : undefined;
    return { target, at: planMoment(random), ...(stallMs === undefined ? {} : { stallMs }) };
  };
  if (random.chance(0.7)) faults.push(one());
  if (random.chance(0.3)) faults.push(one());
  return faults;
}

/** A group of rounds on one stack: rounds `first` to `first + size - 1`, `first` a multiple of the group size. */
export function planGroup(seed, first, size, parallel) {
  const random = createRandom('group', seed, first, parallel);
  const faults = [];
  if (random.chance(0.7)) faults.push(planStackFault(random, random.whole(300, 7000)));
  if (random.chance(0.2)) faults.push(planStackFault(random, random.whole(500, 5000)));
  if (random.chance(0.4)) {
    const links = {
      what: 'links',
      afterMs: random.whole(300, 5000),
      times: random.whole(1, 5),
      gapMs: random.whole(50, 900),
    };
    faults.splice(random.whole(0, faults.length), 0, links);
  }
  return { seed, first, parallel, rounds: Array.from({ length: size }, (_, i) => planRound(seed, first + i)), faults };
}

/** `afterMs`: from the start of the group or the end of the fault before it. */
function planStackFault(random, afterMs) {
  const what = random.weighted([
    [3, 'serve'],
    [4, 'host'],
    [3, 'postgres'],
    [2, 'up'],
    [3, 'all'],
    [1, 'stop'],
    [2, 'harnesses'],
    [2, 'agents'],
    [2, 'stall'],
  ]);
  if (what !== 'stall') return { what, afterMs };
  return { what, afterMs, target: random.pick(['serve', 'host', 'postgres']), stallMs: random.whole(200, 4000) };
}

/** All groups of a run. */
export function planRun(seed, rounds, parallel) {
  return Array.from({ length: Math.ceil(rounds / parallel) }, (_, i) =>
    planGroup(seed, i * parallel, Math.min(parallel, rounds - i * parallel), parallel),
  );
}

/**
 * Every round the same: one question, answered from sleep, and `target` killed a little after `on`. The model
 * takes its time, so that the kill falls between what the log says and what the model has been told.
 */
export function planDirected(seed, { target, on }, rounds, parallel) {
  return planRun(seed, rounds, parallel).map((group) => ({
    ...group,
    faults: [],
    rounds: group.rounds.map((plan) => ({
      ...plan,
      kind: 'one',
      pace: { beforeStart: 1500 },
      cards: [{ act: 'answer', wait: { until: 'asleep', delayMs: 0 }, form: 'label' }],
      followUps: ['plain'],
      extras: [],
      faults: [{ target, at: { on, nth: 1, delayMs: createRandom('directed', seed, plan.round).whole(0, 500) } }],
    })),
  }));
}

/** The group a round belongs to, whole, so that it meets what it met in the run. */
export function planReplay(seed, round, parallel) {
  return planGroup(seed, Math.floor(round / parallel) * parallel, parallel, parallel);
}
