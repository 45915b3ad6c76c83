// The whole life of prompts and questions in a simulated shell that stops before every save and
// every effect, one after another. After each crash the session must come to rest with nothing lost,
// nothing told twice and nothing stuck.

import type { KnownHarnessCommand } from '@engram/harness-proto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimulatedSession, type SimulationOptions } from './simulated-session.js';

type Act = (session: SimulatedSession) => void;

const prompt =
  (id: string, text: string): Act =>
  (session) =>
    session.command({ type: 'prompt', text, prompt_id: id });
/** The open card's call id; the answer of a person who sees it. */
const openCard = (session: SimulatedSession): string | undefined => {
  const closed = new Set(
    session.log.flatMap((event) =>
      event.type === 'question_answered' || event.type === 'question_dismissed' ? [event.tool_call_id] : [],
    ),
  );
  return session.log.findLast((event) => event.type === 'user_question' && !closed.has(event.tool_call_id))?.type ===
    'user_question'
    ? session.log.flatMap((event) =>
        event.type === 'user_question' && !closed.has(event.tool_call_id) ? [event.tool_call_id] : [],
      )[0]
    : undefined;
};
const onCard =
  (make: (id: string) => KnownHarnessCommand): Act =>
  (session) => {
    const id = openCard(session);
    if (id !== undefined) session.command(make(id));
  };
const answer = (text: string): Act =>
  onCard((id) => ({ type: 'answer_question', tool_call_id: id, answers: { 'Q?': [text] } }));
const dismiss = (reason: string): Act => onCard((id) => ({ type: 'dismiss_question', tool_call_id: id, reason }));
const attend: Act = onCard((id) => ({ type: 'attend_question', tool_call_id: id, hold_ms: 1000 }));
const release: Act = onCard((id) => ({ type: 'attend_question', tool_call_id: id, hold_ms: 0 }));
const interrupt: Act = (session) => session.command({ type: 'interrupt' });

/** What the conversation must hold exactly once when this command was accepted. */
function toWords(command: KnownHarnessCommand): string[] {
  switch (command.type) {
    case 'prompt':
      return [command.text];
    case 'answer_question':
      return [`answer ${command.answers['Q?']?.join()}`];
    case 'dismiss_question':
      // After an interrupt the next prompt brings the denial along.
      return command.reason === 'interrupted' ? [] : [`declined ${command.reason}`];
    default:
      return [];
  }
}

interface Story {
  readonly acts: readonly Act[];
  readonly cards: number;
  readonly options?: SimulationOptions;
}

const stories: Readonly<Record<string, Story>> = {
  'a prompt': { acts: [prompt('p1', 'hello')], cards: 0 },
  'three prompts': {
    acts: [prompt('p1', 'one'), prompt('p2', 'two'), prompt('p3', 'three')],
    cards: 0,
  },
  'question and answer': { acts: [prompt('p1', 'ASK'), answer('A1')], cards: 1 },
  'question answered by a question': {
    acts: [prompt('p1', 'ASK'), answer('ASK more'), answer('A2')],
    cards: 2,
  },
  'question attended and answered': {
    acts: [prompt('p1', 'ASK'), attend, attend, answer('A1')],
    cards: 1,
  },
  'question attended, released, answered': {
    acts: [prompt('p1', 'ASK'), attend, release, answer('A1')],
    cards: 1,
  },
  'question declined': { acts: [prompt('p1', 'ASK'), dismiss('no time')], cards: 1 },
  'question superseded, then another': {
    acts: [prompt('p1', 'ASK'), prompt('p2', 'ASK otherwise'), answer('A2')],
    cards: 2,
  },
  'question interrupted, next prompt, another question': {
    acts: [prompt('p1', 'ASK'), interrupt, prompt('p2', 'ASK anew'), answer('A2')],
    cards: 2,
  },
  'answers that the agent writes down late': {
    acts: [prompt('p1', 'ASK'), answer('ASK more'), answer('A2'), prompt('p2', 'bye')],
    cards: 2,
    options: { writesLate: true, echoesFirst: true },
  },
  'question superseded, written down late': {
    acts: [prompt('p1', 'ASK'), prompt('p2', 'otherwise'), prompt('p3', 'bye')],
    cards: 1,
    options: { writesLate: true },
  },
  'question 1 by fallback, question 2 must card': {
    acts: [prompt('p1', 'ASK'), answer('ASK again'), answer('A2')],
    cards: 2,
    options: { hooksSilentOnResume: true },
  },
};

function play(story: Story, options: SimulationOptions): SimulatedSession {
  const session = new SimulatedSession({ ...story.options, ...options });
  session.start();
  for (const act of story.acts) act(session);
  return session;
}

function check(session: SimulatedSession, story: Story): void {
  checkPromises(session);
  const cards = session.log.flatMap((event) => (event.type === 'user_question' ? [event.tool_call_id] : []));
  // A run that a crash cut off is told as failed or continued; what it would have asked is not asked.
  const failed = session.log.some((event) => event.type === 'run_completed' && !event.ok);
  const cutOff = failed || session.log.some((event) => event.type === 'notice' && event.code === 'prompt_continued');
  expect(cutOff, 'cut off without a crash').toBe(cutOff && session.crashes + session.kills > 0);
  if (!cutOff) expect(new Set(cards).size, 'cards').toBe(story.cards);
}

function mostOpenCards(session: SimulatedSession): number {
  const open = new Set<string>();
  let most = 0;
  for (const event of session.log) {
    if (event.type === 'user_question') open.add(event.tool_call_id);
    if (event.type === 'question_answered' || event.type === 'question_dismissed') open.delete(event.tool_call_id);
    most = Math.max(most, open.size);
  }
  return most;
}

function checkPromises(session: SimulatedSession): void {
  const owed = session.accepted.flatMap(toWords);
  for (const text of new Set(owed)) {
    const times = session.told.filter((one) => one === text).length;
    expect(times, `told "${text}" in ${JSON.stringify(session.told)}`).toBe(1);
  }
  expect(
    [...session.replies.values()].filter((times) => times !== 1),
    'replies to one fire',
  ).toEqual([]);
  expect(session.forgottenFire, 'a hook without a reply').toBeUndefined();
  expect(mostOpenCards(session), 'open cards at once').toBeLessThanOrEqual(1);
  expect(session.outbox, 'outbox').toEqual([]);
  expect(openCard(session), 'open card').toBeUndefined();
  expect(session.log.at(-1)?.type, 'idle at the end').toBe('harness_idle');
  // Runs open and close one at a time.
  let open: string | undefined;
  for (const event of session.log) {
    if (event.type === 'run_started') {
      expect(open, 'a run inside a run').toBeUndefined();
      open = event.run_id;
    }
    if (event.type === 'run_completed' || event.type === 'run_interrupted') {
      expect(event.run_id).toBe(open);
      open = undefined;
    }
  }
  expect(open, 'a run left open').toBeUndefined();
}

describe.each(Object.entries(stories))('%s', (_name, story) => {
  it('comes to its end', () => check(play(story, {}), story));

  it('comes to the same end after a crash at any point', () => {
    const { points } = play(story, {});
    for (let crashAt = 0; crashAt < points; crashAt += 1) {
      const session = play(story, { crashAt: [crashAt] });
      expect(session.crashes).toBe(1);
      try {
        check(session, story);
      } catch (error) {
        const log = session.log.map((event) => event.type).join(' ');
        throw new Error(`crash at ${crashAt} of ${points}: ${log}`, { cause: error });
      }
    }
  });

  it('comes to the same end when its agent is killed at any point', () => {
    const { points } = play(story, {});
    for (let at = 0; at < points; at += 1) {
      const session = play(story, { killAgentAt: [at] });
      try {
        check(session, story);
      } catch (error) {
        const log = session.log.map((event) => event.type).join(' ');
        throw new Error(`killed at ${at} of ${points}: ${log}`, { cause: error });
      }
    }
  });
});

const someAct = fc.oneof(
  fc.constantFrom('hello', 'ASK').map((text) => ({ type: 'prompt', text }) as const),
  fc.constantFrom('fine', 'ASK').map((text) => ({ type: 'answer', text }) as const),
  fc.constantFrom('declined', 'interrupted').map((reason) => ({ type: 'dismiss', reason }) as const),
  fc.constantFrom('attend', 'release', 'interrupt', 'redeliver', 'restart').map((type) => ({ type }) as const),
);

/** Every text differs, so that it can be counted. */
function toAct(
  act: (typeof someAct)['generate'] extends (...args: never[]) => { value: infer V } ? V : never,
  at: number,
): Act {
  switch (act.type) {
    case 'prompt':
      return prompt(`p${at}`, `${act.text} ${at}`);
    case 'answer':
      return answer(`${act.text} ${at}`);
    case 'dismiss':
      return dismiss(act.reason === 'interrupted' ? act.reason : `${act.reason} ${at}`);
    case 'attend':
      return attend;
    case 'release':
      return release;
    case 'interrupt':
      return interrupt;
    case 'redeliver':
      return (session) => session.redeliver();
    case 'restart':
      return (session) => session.start();
  }
}

it('holds its promises over random stories with random crashes', () => {
  fc.assert(
    fc.property(
      fc.array(someAct, { maxLength: 8 }),
      // At the third crash over the same prompt it is given up, visibly.
      fc.array(fc.nat(160), { maxLength: 2 }),
      fc.record({
        hooksSilentOnResume: fc.boolean(),
        hookArrives: fc.nat(2),
        killAgentAt: fc.array(fc.nat(160), { maxLength: 1 }),
        writesLate: fc.boolean(),
        echoesFirst: fc.boolean(),
      }),
      (acts, crashAt, options) => {
        const session = new SimulatedSession({ crashAt, ...options });
        session.start();
        for (const [at, act] of acts.entries()) toAct(act, at)(session);
        // Somebody deals with the last open card; a denial that is owed goes with the next prompt.
        for (let i = 0; i < 10 && openCard(session) !== undefined; i += 1) answer(`end ${i}`)(session);
        prompt('last', 'goodbye')(session);
        for (let i = 0; i < 10 && openCard(session) !== undefined; i += 1) answer(`after ${i}`)(session);
        checkPromises(session);
      },
    ),
    { numRuns: 1500 },
  );
});
