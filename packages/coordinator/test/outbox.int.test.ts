// What retires a command, and what a waiting question does to prompts, interrupts and answers.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttachFacts, Coordinator } from '../src/index.js';
import {
  ada,
  allEvents,
  ask,
  bob,
  claimOne,
  type Held,
  kinds,
  makeSession,
  makeWaiting,
  owed,
  question,
} from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;
let coordinator: Coordinator;

beforeAll(async () => {
  database = await startTestDatabase();
  coordinator = await database.createCoordinator();
});
afterAll(() => database.stop());

const answers = { 'Which editor?': ['vi'] };
const prompt = (id: string, prompt_id: string, text = 'more') =>
  coordinator.acceptPrompt(id, { text, prompt_id, by: ada });
const answer = (id: string, tool_call_id: string, given: Record<string, string[]> = answers) =>
  coordinator.acceptAnswer(id, { tool_call_id, answers: given, by: ada });

async function facts(held: Pick<Held, 'id' | 'epoch'>): Promise<AttachFacts> {
  const found = await coordinator.attachFacts(held.id, held.epoch);
  if ('ok' in found) throw new Error(found.reason);
  return found;
}

async function commands(held: Pick<Held, 'id' | 'epoch'>): Promise<readonly string[]> {
  return (await facts(held)).commands.map(({ command }) => command.type);
}

async function makeRunning(): Promise<Held> {
  const session = await makeSession(coordinator);
  await prompt(session.id, 'p0');
  const held = await claimOne(coordinator, session.id);
  await facts(held);
  await held.say({ type: 'run_started', run_id: 'r0', prompt_id: 'p0' });
  return held;
}

const last = async (id: string, n: number) => (await allEvents(coordinator, id)).slice(-n).map((each) => each.event);

describe('prompts', () => {
  it('is owed until run_started names it; queued only marks it seen; the same id again changes nothing', async () => {
    const held = await makeRunning();
    await prompt(held.id, 'p1', 'first');
    await prompt(held.id, 'p1', 'another text');
    await held.say({ type: 'prompt_queued', prompt_id: 'p1' });
    expect(await owed(coordinator, held.id)).toEqual(['prompt:p1']);
    expect((await facts(held)).commands).toMatchObject([
      { command: { type: 'prompt', text: 'first', prompt_id: 'p1' } },
    ]);
    await held.say(
      { type: 'run_completed', run_id: 'r0', ok: true },
      { type: 'run_started', run_id: 'r1', prompt_id: 'p1' },
    );
    expect(await owed(coordinator, held.id)).toEqual([]);
    await prompt(held.id, 'p1');
    expect((await kinds(coordinator, held.id)).filter((kind) => kind === 'prompt_received')).toHaveLength(2);
  });

  it('are handed out oldest first, also those that came after the attach', async () => {
    const held = await makeRunning();
    for (const id of ['p1', 'p2', 'p3']) await prompt(held.id, id);
    const all = (await facts(held)).commands;
    expect(all.map(({ command }) => 'prompt_id' in command && command.prompt_id)).toEqual(['p1', 'p2', 'p3']);
    const after = await coordinator.commandsAfter(held.id, held.epoch, all[1]?.outboxId ?? 0);
    expect(after).toEqual(all.slice(2));
  });

  it('is edited and removed in place while no host was handed it', async () => {
    const { id } = await makeSession(coordinator);
    await prompt(id, 'p1', 'old');
    expect(await coordinator.editPrompt(id, 'p1', 'new')).toEqual({ ok: true });
    expect((await coordinator.getSession(id))?.undelivered).toMatchObject([{ kind: 'prompt', id: 'p1', text: 'new' }]);
    await prompt(id, 'p2');
    expect(await coordinator.dequeuePrompt(id, 'p2')).toEqual({ ok: true });
    expect(await coordinator.dequeuePrompt(id, 'p2')).toEqual({ ok: false, reason: 'prompt_not_queued' });
    expect(await owed(coordinator, id)).toEqual(['prompt:p1']);
    expect((await kinds(coordinator, id)).slice(-3)).toEqual(['prompt_edited', 'prompt_received', 'prompt_dequeued']);
    // The log alone says what the prompt is now, however long.
    const long = 'é'.repeat(5_000);
    await coordinator.editPrompt(id, 'p1', long);
    expect((await allEvents(coordinator, id)).at(-1)?.event).toMatchObject({ summary: 'é'.repeat(200), text: long });
  });

  it('that is removed or changed at the moment it is handed out is not handed, or as it is now', async () => {
    const connection = await database.makeDatabase();
    const own = await database.createCoordinator({ connection });
    const { id } = await makeSession(own);
    await own.acceptPrompt(id, { text: 'withdrawn', prompt_id: 'p1', by: ada });
    await own.acceptPrompt(id, { text: 'old', prompt_id: 'p2', by: ada });
    const held = await claimOne(own, id);
    const change = database.query(
      connection,
      `begin; select 1 from sessions where id = '${id}' for no key update;
       update outbox set retired_at = now() where ref = 'p1';
       update outbox set command = command || '{"text": "new"}' where ref = 'p2'; select pg_sleep(0.5); commit`,
    );
    const sleeping = `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
    await expect.poll(() => database.query(connection, sleeping)).toHaveLength(1);
    const handed = await own.commandsAfter(id, held.epoch, 0);
    await change;
    expect(handed).toMatchObject([{ command: { prompt_id: 'p2', text: 'new' } }]);
    expect(await own.commandsAfter(id, held.epoch + 1, 0)).toEqual({ ok: false, reason: 'stale_epoch' });
  });

  it('is edited and removed by command once a host was handed it, each command proved by its event', async () => {
    const held = await makeRunning();
    await prompt(held.id, 'p1');
    await facts(held);
    await coordinator.editPrompt(held.id, 'p1', 'new');
    await coordinator.editPrompt(held.id, 'p1', 'newer');
    expect(await owed(coordinator, held.id)).toEqual(['prompt:p1', 'edit:p1', 'edit:p1']);
    await held.say({ type: 'prompt_edited', prompt_id: 'p1', summary: 'n' });
    expect(await owed(coordinator, held.id)).toEqual(['prompt:p1', 'edit:p1']);
    expect((await allEvents(coordinator, held.id)).at(-1)?.event).toEqual({
      type: 'prompt_edited',
      prompt_id: 'p1',
      summary: 'n',
      text: 'new',
    });
    await coordinator.dequeuePrompt(held.id, 'p1');
    await coordinator.dequeuePrompt(held.id, 'p1');
    expect(await owed(coordinator, held.id)).toEqual(['prompt:p1', 'edit:p1', 'dequeue:p1']);
    await held.say({ type: 'prompt_dequeued', prompt_id: 'p1' });
    expect(await owed(coordinator, held.id)).toEqual([]);
    expect(await coordinator.editPrompt(held.id, 'p1', 'late')).toEqual({ ok: false, reason: 'prompt_not_queued' });
  });

  it('takes its edits and its removal with it when it runs', async () => {
    const held = await makeRunning();
    await prompt(held.id, 'p1');
    await facts(held);
    await coordinator.editPrompt(held.id, 'p1', 'new');
    await coordinator.dequeuePrompt(held.id, 'p1');
    await held.say(
      { type: 'run_completed', run_id: 'r0', ok: true },
      { type: 'run_started', run_id: 'r1', prompt_id: 'p1' },
    );
    expect(await owed(coordinator, held.id)).toEqual([]);
  });
});

describe('interrupts', () => {
  it('is kept only while a run is open, and once', async () => {
    const held = await makeRunning();
    await coordinator.interrupt(held.id, ada);
    expect(await coordinator.interrupt(held.id, ada)).toEqual({ ok: true, status: 'active' });
    expect(await commands(held)).toEqual(['interrupt']);
    await held.say({ type: 'run_interrupted', run_id: 'r0' });
    expect(await owed(coordinator, held.id)).toEqual([]);
    await coordinator.interrupt(held.id, ada);
    expect(await owed(coordinator, held.id)).toEqual([]);
  });

  it('does not outlive the run it was meant for', async () => {
    const held = await makeRunning();
    await coordinator.interrupt(held.id, ada);
    await held.say({ type: 'run_completed', run_id: 'r0', ok: true });
    expect(await owed(coordinator, held.id)).toEqual([]);
  });

  it('closes a waiting question with a stored event, wakes nobody, and is delivered at the next wake', async () => {
    const { id } = await makeWaiting(coordinator);
    expect(await coordinator.interrupt(id, ada)).toEqual({ ok: true, status: 'idle' });
    expect(await last(id, 1)).toEqual([
      { type: 'question_dismissed', tool_call_id: 't1', reason: 'interrupted', by: ada },
    ]);
    expect((await coordinator.getSession(id))?.awaiting).toEqual([]);
    expect(await answer(id, 't1')).toEqual({ ok: false, reason: 'question_closed' });
    expect(await owed(coordinator, id)).toEqual(['dismiss:t1']);
    expect((await coordinator.claimSessions('h1', 9)).map((claim) => claim.session.id)).not.toContain(id);

    await prompt(id, 'p1');
    const held = await claimOne(coordinator, id);
    expect(await commands(held)).toEqual(['dismiss_question', 'prompt']);
    const before = await kinds(coordinator, id);
    await held.say({ type: 'question_dismissed', run_id: 'r2', tool_call_id: 't1', reason: 'interrupted' });
    expect(await kinds(coordinator, id)).toEqual(before);
    expect(await owed(coordinator, id)).toEqual(['prompt:p1']);
  });
});

describe('answers', () => {
  it('is stored with its command, owed until question_answered, then final', async () => {
    const { id } = await makeWaiting(coordinator);
    expect(await answer(id, 't1')).toEqual({ ok: true, state: 'sent' });
    expect(await answer(id, 't1')).toEqual({ ok: true, state: 'sent' });
    expect(await answer(id, 't1', { 'Which editor?': ['emacs'] })).toEqual({ ok: false, reason: 'question_closed' });
    expect((await coordinator.getSession(id))?.awaiting).toMatchObject([{ tool_call_id: 't1', state: 'sent' }]);
    expect(await last(id, 1)).toEqual([{ type: 'answer_submitted', tool_call_id: 't1', answers, by: ada }]);
    const held = await claimOne(coordinator, id);
    expect(await facts(held)).toMatchObject({
      open: [{ tool_call_id: 't1', questions: [question] }],
      closed: [],
      commands: [{ command: { type: 'answer_question', tool_call_id: 't1', answers } }],
    });
    await held.say(
      { type: 'run_started', run_id: 'r2' },
      { type: 'question_answered', run_id: 'r2', tool_call_id: 't1', answers },
    );
    expect(await owed(coordinator, id)).toEqual([]);
    expect((await coordinator.getSession(id))?.awaiting).toEqual([]);
    expect(await answer(id, 't1')).toEqual({ ok: true, state: 'answered' });
    expect(await answer(id, 't1', { 'Which editor?': ['emacs'] })).toEqual({ ok: false, reason: 'question_closed' });
    expect((await facts(held)).closed).toEqual(['t1']);
    expect((await kinds(coordinator, id)).slice(-4)).toEqual([
      'answer_submitted',
      'status_changed',
      'run_started',
      'question_answered',
    ]);
  });

  it('of two people at once is one, and the other hears that it is closed', async () => {
    const { id } = await makeWaiting(coordinator);
    const outcomes = await Promise.all([answer(id, 't1'), answer(id, 't1', { 'Which editor?': ['emacs'] })]);
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
    expect((await kinds(coordinator, id)).filter((kind) => kind === 'answer_submitted')).toHaveLength(1);
  });

  it('that comes while another writer holds the session goes behind its event, or finds the question closed', async () => {
    const connection = await database.makeDatabase();
    const own = await database.createCoordinator({ connection });
    const sleeping = `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
    const meanwhile = async (id: string, change: string) => {
      const writing = database.query(
        connection,
        `begin; select 1 from sessions where id = '${id}' for no key update;
         update sessions set last_idx = last_idx + 1 where id = '${id}';
         insert into events (session_id, idx, at, kind, data, size)
           select id, last_idx, now(), 'notice', '{}', 2 from sessions where id = '${id}';
         ${change} select pg_sleep(0.4); commit`,
      );
      await expect.poll(() => database.query(connection, sleeping)).toHaveLength(1);
      const outcome = await own.acceptAnswer(id, { tool_call_id: 't1', answers, by: ada });
      await writing;
      return outcome;
    };
    const open = await makeWaiting(own);
    expect(await meanwhile(open.id, '')).toEqual({ ok: true, state: 'sent' });
    const events = await allEvents(own, open.id);
    expect(events.map(({ idx }) => idx)).toEqual(events.map((_event, at) => at + 1));
    expect(events.slice(-2).map(({ event }) => event.type)).toEqual(['notice', 'answer_submitted']);
    expect((await own.getSession(open.id))?.last_event_idx).toBe(events.length);
    const closing = await makeWaiting(own);
    const close = `update questions set state = 'dismissed' where session_id = '${closing.id}';`;
    expect(await meanwhile(closing.id, close)).toEqual({ ok: false, reason: 'question_closed' });
    expect(await owed(own, closing.id)).toEqual([]);
  });

  it('that answers nothing leaves the card open', async () => {
    const { id } = await makeWaiting(coordinator);
    for (const bad of [
      {},
      { 'Which editor?': [] },
      { 'Which editor?': ['  '] },
      { 'Which editor?': ['\t\n'] },
      { other: ['a'] },
    ]) {
      expect(await answer(id, 't1', bad)).toEqual({ ok: false, reason: 'invalid_answers' });
    }
    expect((await coordinator.getSession(id))?.awaiting).toMatchObject([{ state: 'waiting' }]);
    expect(await answer(id, 'unknown')).toEqual({ ok: false, reason: 'not_found' });
  });

  it('of an older question never settles a newer one', async () => {
    const { id } = await makeWaiting(coordinator);
    await coordinator.dismissQuestion(id, { tool_call_id: 't1', reason: 'no', by: ada });
    const held = await claimOne(coordinator, id);
    await held.say({ type: 'question_dismissed', run_id: 'r2', tool_call_id: 't1', reason: 'no' }, ...ask('t2', 'r2'));
    expect(await answer(id, 't1')).toEqual({ ok: false, reason: 'question_closed' });
    expect((await coordinator.getSession(id))?.awaiting).toMatchObject([{ tool_call_id: 't2', state: 'waiting' }]);
  });

  it('that failed is shown so, retires its command, and the same again is the retry', async () => {
    const { id } = await makeWaiting(coordinator);
    await answer(id, 't1');
    const held = await claimOne(coordinator, id);
    const failure = { type: 'answer_failed', tool_call_id: 't1', code: 'agent_refused', message: 'x' } as const;
    expect(await coordinator.appendHostEvent(id, held.epoch, failure)).toMatchObject({ ok: true });
    expect((await coordinator.getSession(id))?.awaiting).toMatchObject([{ state: 'failed' }]);
    expect(await owed(coordinator, id)).toEqual([]);
    expect(await answer(id, 't1', { 'Which editor?': ['emacs'] })).toEqual({ ok: false, reason: 'question_closed' });
    expect(await answer(id, 't1')).toEqual({ ok: true, state: 'sent' });
    expect(await owed(coordinator, id)).toEqual(['answer:t1']);
  });

  it('whose question the agent closed first is recorded as failed before the card closes', async () => {
    const { id } = await makeWaiting(coordinator);
    await answer(id, 't1');
    const held = await claimOne(coordinator, id);
    await held.say({ type: 'question_dismissed', run_id: 'r2', tool_call_id: 't1', reason: 'withdrawn' });
    expect(await last(id, 2)).toMatchObject([
      { type: 'answer_failed', tool_call_id: 't1', code: 'question_closed' },
      { type: 'question_dismissed', tool_call_id: 't1', reason: 'withdrawn' },
    ]);
    expect(await owed(coordinator, id)).toEqual([]);
  });
});

describe('questions', () => {
  it('once answered never opens again, whatever the order of the events', async () => {
    const { id } = await makeWaiting(coordinator);
    await coordinator.wake(id);
    const held = await claimOne(coordinator, id);
    const answered = { type: 'question_answered', run_id: 'r2', tool_call_id: 't1', answers } as const;
    await held.say(answered, ...ask('t1'), answered);
    await held.say({ ...answered, tool_call_id: 't9' }, ...ask('t9'));
    const all = await kinds(coordinator, id);
    expect(all.filter((kind) => kind === 'user_question')).toHaveLength(1);
    expect(all.filter((kind) => kind === 'question_answered')).toHaveLength(2);
    expect((await coordinator.getSession(id))?.awaiting).toEqual([]);
  });

  it('are stored once when the same call is told twice in one batch', async () => {
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    await held.say(...ask('t1'), ...ask('t1'));
    expect((await kinds(coordinator, session.id)).filter((kind) => kind === 'user_question')).toHaveLength(1);
  });

  it('is dismissed by storing it; the same again is fine, another reason is not, the wire event is not stored twice', async () => {
    const { id } = await makeWaiting(coordinator);
    const dismiss = (reason: string) => coordinator.dismissQuestion(id, { tool_call_id: 't1', reason, by: bob });
    expect(await dismiss('declined')).toEqual({ ok: true });
    expect(await dismiss('declined')).toEqual({ ok: true });
    expect(await dismiss('other')).toEqual({ ok: false, reason: 'question_closed' });
    expect(await coordinator.attendQuestion(id, 't1', 1_000)).toEqual({ ok: false, reason: 'question_closed' });
    const held = await claimOne(coordinator, id);
    expect(await facts(held)).toMatchObject({
      open: [{ tool_call_id: 't1' }],
      closed: [],
      commands: [{ command: { type: 'dismiss_question', reason: 'declined' } }],
    });
    const before = await kinds(coordinator, id);
    await held.say({ type: 'question_dismissed', run_id: 'r2', tool_call_id: 't1', reason: 'declined' });
    expect(await kinds(coordinator, id)).toEqual(before);
    expect(await facts(held)).toMatchObject({ open: [], closed: ['t1'], commands: [] });
  });

  it('is superseded by a prompt, in one step', async () => {
    const { id } = await makeWaiting(coordinator);
    await prompt(id, 'p1', 'rather do this');
    expect(await last(id, 2)).toMatchObject([
      { type: 'prompt_received', prompt_id: 'p1' },
      { type: 'question_dismissed', tool_call_id: 't1', reason: 'superseded', by: ada },
    ]);
    expect((await coordinator.getSession(id))?.awaiting).toEqual([]);
    const held = await claimOne(coordinator, id);
    expect(await commands(held)).toEqual(['prompt']);
    await held.say(
      { type: 'run_started', run_id: 'r2', prompt_id: 'p1' },
      { type: 'question_dismissed', run_id: 'r2', tool_call_id: 't1', reason: 'superseded' },
    );
    expect(await owed(coordinator, id)).toEqual([]);
    expect((await kinds(coordinator, id)).filter((kind) => kind === 'question_dismissed')).toHaveLength(1);
  });

  it('whose place a prompt accepted before it takes cannot be dismissed: its reason would reach nobody', async () => {
    const held = await makeRunning();
    const { id } = held;
    await prompt(id, 'p1', 'rather do this');
    await held.say(...ask('t1', 'r0'));
    const dismiss = () => coordinator.dismissQuestion(id, { tool_call_id: 't1', reason: 'no', by: ada });
    expect(await dismiss()).toEqual({ ok: false, reason: 'question_closed' });
    await held.say(
      { type: 'run_started', run_id: 'r2', prompt_id: 'p1' },
      { type: 'question_dismissed', run_id: 'r2', tool_call_id: 't1', reason: 'superseded' },
    );
    expect((await allEvents(coordinator, id)).map((each) => each.event)).toContainEqual(
      expect.objectContaining({ type: 'question_dismissed', reason: 'superseded' }),
    );
    expect(await dismiss()).toEqual({ ok: false, reason: 'question_closed' });
  });

  it('can be dismissed while a prompt waits behind it', async () => {
    const held = await makeRunning();
    const { id } = held;
    await prompt(id, 'p1', 'and then this');
    await held.say({ type: 'prompt_queued', prompt_id: 'p1', summary: 'and then this' }, ...ask('t1', 'r0'));
    expect(await coordinator.dismissQuestion(id, { tool_call_id: 't1', reason: 'no', by: ada })).toEqual({ ok: true });
    expect(await owed(coordinator, id)).toEqual(['prompt:p1', 'dismiss:t1']);
  });

  it('with a stored answer is not superseded: the prompt queues behind', async () => {
    const { id } = await makeWaiting(coordinator);
    await answer(id, 't1');
    await prompt(id, 'p1');
    expect((await coordinator.getSession(id))?.awaiting).toMatchObject([{ state: 'sent' }]);
    const held = await claimOne(coordinator, id);
    expect(await commands(held)).toEqual(['answer_question', 'prompt']);
  });

  it('keeps a prompt that was queued before it asleep with it, until it is answered', async () => {
    const held = await makeRunning();
    await prompt(held.id, 'p1');
    await facts(held);
    await held.say({ type: 'prompt_queued', prompt_id: 'p1' }, ...ask('t1', 'r0'));
    expect(await coordinator.releaseLease(held.id, held.epoch, 'idle')).toEqual({ ok: true });
    expect((await coordinator.claimSessions('h1', 9)).map((claim) => claim.session.id)).not.toContain(held.id);
    await answer(held.id, 't1');
    const woken = await claimOne(coordinator, held.id);
    expect(await commands(woken)).toEqual(['prompt', 'answer_question']);
  });

  it('that is interrupted lets the prompt behind it run', async () => {
    const held = await makeRunning();
    await prompt(held.id, 'p1');
    await held.say({ type: 'prompt_queued', prompt_id: 'p1' }, ...ask('t1', 'r0'));
    await coordinator.releaseLease(held.id, held.epoch, 'idle');
    await coordinator.interrupt(held.id, ada);
    await claimOne(coordinator, held.id);
  });
});

describe('crossing roads', () => {
  it('turns a session back that was falling asleep when an answer arrived, and delivers it', async () => {
    const held = await makeRunning();
    await held.say(...ask('t1', 'r0'));
    await coordinator.setStatus(held.id, held.epoch, 'evicting');
    expect(await answer(held.id, 't1')).toEqual({ ok: true, state: 'sent' });
    expect(await coordinator.releaseLease(held.id, held.epoch, 'idle')).toEqual({ ok: false, reason: 'work_waiting' });
    expect((await coordinator.getSession(held.id))?.status).toBe('active');
    expect(await commands(held)).toEqual(['answer_question']);
    const claims = await coordinator.claimSessions('h2', 100);
    expect(claims.map(({ session }) => session.id)).not.toContain(held.id);
  });

  it('stores a delivered answer once when the harness tells it again after a lost link', async () => {
    const { id } = await makeWaiting(coordinator);
    await answer(id, 't1');
    const held = await claimOne(coordinator, id);
    const events = [
      { seq: held.seq + 1, event: { type: 'question_answered', run_id: 'r2', tool_call_id: 't1', answers } as const },
    ];
    await coordinator.appendEvents(id, held.epoch, events);
    await coordinator.appendEvents(id, held.epoch, events);
    expect((await kinds(coordinator, id)).filter((kind) => kind === 'question_answered')).toHaveLength(1);
    expect((await facts(held)).lastStoredSeq).toBe(held.seq + 1);
  });
});
