// One quiet life of each kind over the whole stack, without any fault: what a version of the CLI must be
// able to do for Engram. Played and judged like rounds of the soak, and then by what each must show.

import { runSoak } from './soak.mjs';

const asleep = { until: 'asleep', delayMs: 0 };
const now = { until: 'now', delayMs: 0 };
const answer = { act: 'answer', wait: asleep, form: 'label' };

/** `cards`: how many cards, each with how many questions. `shows`: event type → at least so many. */
const LIVES = [
  { name: 'prompt', kind: 'plain', acts: [], cards: [], shows: { agent_message: 1 } },
  { name: 'question, sleep, answer', kind: 'one', acts: [answer], cards: [1], shows: { question_answered: 1 } },
  {
    name: 'two questions, one after the other',
    kind: 'row',
    acts: [answer, answer],
    cards: [1, 1],
    shows: { question_answered: 2 },
  },
  { name: 'two questions in one message', kind: 'pair', acts: [answer], cards: [2], shows: { question_answered: 1 } },
  {
    name: 'question, then Bash in the same message',
    kind: 'bash',
    acts: [answer],
    cards: [1],
    shows: { question_answered: 1, tool_call_completed: 1 },
  },
  {
    name: 'Bash, then question in the same message',
    kind: 'bash-first',
    acts: [answer],
    cards: [1],
    shows: { question_answered: 1, tool_call_completed: 1 },
  },
  {
    name: 'file, question, file',
    kind: 'write',
    acts: [answer],
    cards: [1],
    shows: { question_answered: 1, file_changed: 2 },
  },
  {
    name: 'free text as the answer',
    kind: 'one',
    acts: [{ ...answer, form: 'words' }],
    cards: [1],
    shows: { question_answered: 1 },
  },
  {
    name: 'dismissed with a reason',
    kind: 'one',
    acts: [{ act: 'dismiss', wait: asleep, reason: true }],
    cards: [1],
    shows: { question_dismissed: 1 },
  },
  {
    name: 'prompt in place of an answer',
    kind: 'one',
    acts: [{ act: 'supersede', wait: asleep }],
    cards: [1],
    shows: { question_dismissed: 1 },
  },
  {
    name: 'interrupted, then another prompt',
    kind: 'one',
    acts: [{ act: 'interrupt', wait: asleep, promptAfterMs: 200 }],
    cards: [1],
    shows: { question_dismissed: 1 },
  },
  {
    name: 'woken ahead, then answered',
    kind: 'one',
    acts: [{ act: 'attend', wait: asleep, holdMs: 2000, next: 'answer', form: 'label' }],
    cards: [1],
    shows: { question_answered: 1 },
  },
  {
    name: 'woken ahead and left, then answered',
    kind: 'one',
    acts: [{ act: 'attend', wait: asleep, holdMs: 'abandon', next: 'answer', form: 'label' }],
    cards: [1],
    shows: { question_answered: 1 },
  },
  {
    name: 'answered at once',
    kind: 'one',
    acts: [{ ...answer, wait: now }],
    cards: [1],
    shows: { question_answered: 1 },
  },
];

export const LIFE_NAMES = LIVES.map(({ name }) => name);

function toPlan({ kind, acts }, round) {
  const plan = { round, tag: `r${round}`, kind, startMs: 0, pace: {}, cards: acts, extras: [], faults: [] };
  return { ...plan, followUps: ['plain', 'plain'] };
}

/** One `{name, holds, saw}` for each life. */
export async function checkLives({ claude, version, parallel = 2, onLife = () => {} }) {
  const plans = LIVES.map(toPlan);
  const groups = [];
  for (let first = 0; first < plans.length; first += parallel) {
    groups.push({
      seed: `compat-${version}`,
      first,
      parallel,
      rounds: plans.slice(first, first + parallel),
      faults: [],
    });
  }
  const lives = [];
  const { stack } = await runSoak({
    claude,
    groups,
    onRound: ({ round, findings }, facts) => {
      const missing = missingIn(LIVES[round], facts);
      const wrong = [...findings.map((finding) => `${finding.class}: ${finding.what}`), ...missing];
      const life = {
        name: LIVES[round].name,
        holds: wrong.length === 0,
        saw: wrong.join('; ') || `${facts.requests.length} requests`,
      };
      lives.push(life);
      onLife(life);
    },
  });
  const whole = {
    name: 'the stack as a whole',
    holds: stack.length === 0,
    saw: stack.map(({ what }) => what).join('; ') || 'no process left',
  };
  lives.push(whole);
  onLife(whole);
  return lives;
}

function missingIn({ cards, shows }, { events }) {
  const seen = events.filter((event) => event.type === 'user_question').map((event) => event.questions.length);
  const told =
    JSON.stringify(seen) === JSON.stringify(cards)
      ? []
      : [`cards ${JSON.stringify(seen)}, not ${JSON.stringify(cards)}`];
  for (const [type, least] of Object.entries(shows)) {
    const count = events.filter((event) => event.type === type).length;
    if (count < least) told.push(`${type} ${count} times, not ${least}`);
  }
  const bad = events.filter((event) => event.type === 'notice' && event.level !== 'info');
  for (const { code } of bad) told.push(`notice ${code}`);
  return told;
}
