// Where a session's files are decides who may take it; what a lost host was doing is owed again.

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Coordinator } from '../src/index.js';
import { ada, allEvents, ask, claimOne, type Held, hostInfo, kinds, makeSession, owed } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

const LEASE_MS = 1_000;
let database: TestDatabase;
let coordinator: Coordinator;
beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database.stop());
beforeEach(async () => {
  coordinator = await database.createCoordinator({ leaseMs: LEASE_MS });
});

const ids = async (host: string): Promise<readonly string[]> =>
  (await coordinator.claimSessions(host, 9)).map((claim) => claim.session.id);

async function beginRun(held: Held, prompt_id: string, run_id: string): Promise<void> {
  await coordinator.attachFacts(held.id, held.epoch);
  await held.say({ type: 'run_started', run_id, prompt_id });
}

async function prompted(hostId = 'h1'): Promise<{ held: Held; prompt_id: string }> {
  const { id } = await makeSession(coordinator);
  const prompt_id = randomUUID();
  await coordinator.acceptPrompt(id, { text: 'go', prompt_id, by: ada });
  return { held: await claimOne(coordinator, id, hostId), prompt_id };
}

const commit = (held: Held, manifest: string, storeId = 'store') =>
  coordinator.commitFiles(held.id, held.epoch, { storeId, manifest });

describe('files in a store', () => {
  it('let any host that shares the store take the session, told what to restore, and no other', async () => {
    for (const [id, store_id] of [
      ['h1', 'store'],
      ['h2', 'store'],
      ['h3', 'another'],
      ['h4', undefined],
    ] as const) {
      await coordinator.heartbeat(hostInfo(id, store_id === undefined ? {} : { store_id }));
    }
    const { held, prompt_id } = await prompted();
    await beginRun(held, prompt_id, 'r1');
    await held.say(...ask('t1'));
    expect(await commit(held, 'm.1')).toEqual({ ok: true });
    await coordinator.releaseLease(held.id, held.epoch, 'idle');
    await coordinator.wake(held.id);
    expect(await ids('h3')).toEqual([]);
    expect(await ids('h4')).toEqual([]);
    expect((await coordinator.listHosts()).map((host) => [host.host_id, host.files_only_here])).toEqual([
      ['h1', 0],
      ['h2', 0],
      ['h3', 0],
      ['h4', 0],
    ]);
    expect(await coordinator.claimSessions('h2', 9)).toMatchObject([
      { session: { id: held.id }, files: { newestHere: false, lost: false, manifest: 'm.1' } },
    ]);
  });

  it('are not changed by a host that lost its lease', async () => {
    const { held } = await prompted();
    await delay(LEASE_MS + 20);
    await claimOne(coordinator, held.id, 'h2');
    expect(await commit(held, 'm.late')).toEqual({ ok: false, reason: 'stale_epoch' });
    expect(await coordinator.keepFilesHere(held.id, held.epoch)).toEqual({ ok: false, reason: 'stale_epoch' });
  });

  it('are waited for on their host while it lives, and given up with it', async () => {
    await coordinator.heartbeat(hostInfo('h1'));
    const { held, prompt_id } = await prompted();
    await beginRun(held, prompt_id, 'r1');
    await held.say(...ask('t1'));
    await coordinator.releaseLease(held.id, held.epoch, 'idle');
    expect((await coordinator.listHosts())[0]?.files_only_here).toBe(1);
    await coordinator.wake(held.id);
    expect(await ids('h2')).toEqual([]);
    await delay(LEASE_MS + 20);
    const [claim] = await coordinator.claimSessions('h2', 9);
    expect(claim?.files).toEqual({ newestHere: false, lost: true, stored: false });
    // The first one, back again, has an older copy now only when the second one really ran.
    await coordinator.releaseLease(held.id, claim?.epoch ?? 0, 'failed');
    await coordinator.wake(held.id);
    expect((await coordinator.claimSessions('h1', 9))[0]?.files).toMatchObject({ newestHere: true, lost: false });
  });

  it('stay with a host that could not store them before it went', async () => {
    await coordinator.heartbeat(hostInfo('h1', { store_id: 'store' }));
    const { held, prompt_id } = await prompted();
    await beginRun(held, prompt_id, 'r1');
    await held.say(...ask('t1'));
    await coordinator.keepFilesHere(held.id, held.epoch);
    await coordinator.releaseLease(held.id, held.epoch, 'host_lost');
    await coordinator.leaveHost('h1');
    await coordinator.wake(held.id);
    await delay(LEASE_MS + 20);
    expect(await ids('h2')).toEqual([]);
    const back = await claimOne(coordinator, held.id, 'h1');
    await commit(back, 'm.1');
    await coordinator.releaseLease(back.id, back.epoch, 'idle');
    await coordinator.heartbeat(hostInfo('h2', { store_id: 'store' }));
    await coordinator.wake(held.id);
    expect(await ids('h2')).toEqual([held.id]);
  });

  it('make the copy on the host before a thing to remove, a day after another host stored newer ones', async () => {
    const connection = await database.makeDatabase();
    coordinator = await database.createCoordinator({ connection, leaseMs: LEASE_MS });
    for (const id of ['h1', 'h2']) await coordinator.heartbeat(hostInfo(id, { store_id: 'store' }));
    const { held, prompt_id } = await prompted();
    await beginRun(held, prompt_id, 'r1');
    await held.say({ type: 'run_completed', run_id: 'r1', ok: true });
    await commit(held, 'm.1');
    await coordinator.releaseLease(held.id, held.epoch, 'idle');
    await coordinator.wake(held.id);
    const next = await claimOne(coordinator, held.id, 'h2');
    await coordinator.attachFacts(held.id, next.epoch);
    await commit(next, 'm.2');
    await coordinator.releaseLease(held.id, next.epoch, 'idle');
    expect(await coordinator.staleCopies('h1')).toEqual([]);
    await database.query(connection, `update sessions set files_at = files_at - interval '25 hours'`);
    expect(await coordinator.staleCopies('h1')).toEqual([held.id]);
    expect(await coordinator.staleCopies('h2')).toEqual([]);
    await coordinator.forgetCopy('h2', held.id);
    await coordinator.forgetCopy('h1', held.id);
    expect(await coordinator.staleCopies('h1')).toEqual([]);
    // The one that has the files still hears of a deletion, the other need not.
    await coordinator.deleteSession(held.id);
    expect([await coordinator.deletedSessions('h1'), await coordinator.deletedSessions('h2')]).toEqual([[], [held.id]]);
  });

  it('of a deleted session are remembered until a host of the store removed them', async () => {
    const { held } = await prompted();
    await commit(held, 'm.1');
    expect(await coordinator.deletedInStore('store')).toEqual([]);
    await coordinator.deleteSession(held.id);
    expect(await coordinator.deletedInStore('other')).toEqual([]);
    expect(await coordinator.deletedInStore('store')).toEqual([held.id]);
    await coordinator.confirmDeletedInStore('store', held.id);
    expect(await coordinator.deletedInStore('store')).toEqual([]);
  });
});

describe('a run that died with its host', () => {
  it('is over in the log, and its prompt is owed again, once', async () => {
    await coordinator.heartbeat(hostInfo('h2', { store_id: 'store' }));
    const { held, prompt_id } = await prompted();
    await beginRun(held, prompt_id, 'r1');
    await held.say({ type: 'run_completed', run_id: 'r1', ok: true });
    await commit(held, 'm.1');
    const second = randomUUID();
    await coordinator.acceptPrompt(held.id, { text: 'more', prompt_id: second, by: ada });
    await beginRun(held, second, 'r2');
    expect(await owed(coordinator, held.id)).toEqual([]);
    await delay(LEASE_MS + 20);
    const [claim] = await coordinator.claimSessions('h2', 9);
    expect(claim).toMatchObject({ files: { lost: true, manifest: 'm.1' }, session: { running: false } });
    expect(await owed(coordinator, held.id)).toEqual([`prompt:${second}`]);
    const events = await allEvents(coordinator, held.id);
    expect(events.at(-1)?.event).toEqual({ type: 'run_interrupted', run_id: 'r2' });
    expect(events.map((each) => each.idx)).toEqual(events.map((_, at) => at + 1));
    // The stored files know the first run only; what the harness adds follows on.
    const next: Held = { ...held, epoch: claim?.epoch ?? 0, seq: claim?.lastHarnessSeq ?? 0, say: held.say };
    const facts = await coordinator.attachFacts(held.id, next.epoch);
    expect(facts).toMatchObject({ lastStoredSeq: next.seq, commands: [{ command: { prompt_id: second } }] });
  });

  it('that an answer began: the question stays answered in the log and is open for the agent', async () => {
    const { held, prompt_id } = await prompted();
    await beginRun(held, prompt_id, 'r1');
    await held.say(...ask('t1'));
    const answer = { tool_call_id: 't1', answers: { 'Which editor?': ['vi'] }, by: ada };
    await coordinator.acceptAnswer(held.id, answer);
    await held.say(
      { type: 'run_started', run_id: 'r2' },
      { type: 'question_answered', run_id: 'r2', tool_call_id: 't1', answers: answer.answers },
    );
    await delay(LEASE_MS + 20);
    const again = await claimOne(coordinator, held.id, 'h2');
    expect(await coordinator.attachFacts(held.id, again.epoch)).toMatchObject({
      open: [{ tool_call_id: 't1' }],
      closed: [],
      commands: [{ command: { type: 'answer_question', tool_call_id: 't1' } }],
    });
    await again.say(
      { type: 'run_started', run_id: 'r3' },
      { type: 'question_answered', run_id: 'r3', tool_call_id: 't1', answers: answer.answers },
    );
    expect((await kinds(coordinator, held.id)).filter((kind) => kind === 'question_answered')).toHaveLength(1);
    expect(await owed(coordinator, held.id)).toEqual([]);
    expect(await coordinator.attachFacts(held.id, again.epoch)).toMatchObject({ open: [], closed: ['t1'] });
    expect((await coordinator.getSession(held.id))?.awaiting).toEqual([]);
  });

  it('is not begun again when somebody had asked for its end', async () => {
    const { held, prompt_id } = await prompted();
    await beginRun(held, prompt_id, 'r1');
    await coordinator.interrupt(held.id, ada);
    await delay(LEASE_MS + 20);
    expect(await ids('h2')).toEqual([held.id]);
    expect(await owed(coordinator, held.id)).toEqual([]);
  });

  it('is left alone when its host itself comes back: the files are there', async () => {
    await coordinator.heartbeat(hostInfo('h1'));
    const { held, prompt_id } = await prompted();
    await beginRun(held, prompt_id, 'r1');
    await delay(LEASE_MS + 20);
    const [claim] = await coordinator.claimSessions('h1', 9);
    expect(claim).toMatchObject({ files: { newestHere: true, lost: false }, session: { running: true } });
    expect(await owed(coordinator, held.id)).toEqual([]);
  });
});

describe('placement', () => {
  const make = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) await makeSession(coordinator, { prompt: `p${at}` });
  };

  it('shares a burst among hosts by how full they are', async () => {
    coordinator = await database.createCoordinator({ leaseMs: 60_000 });
    await coordinator.heartbeat(hostInfo('big', { slots: 6 }));
    await coordinator.heartbeat(hostInfo('small', { slots: 2 }));
    await make(8);
    const taken = { big: 0, small: 0 };
    for (let round = 0; round < 8; round += 1) {
      for (const [host, slots] of [
        ['small', 2],
        ['big', 6],
      ] as const) {
        const free = slots - taken[host];
        if (free > 0) taken[host] += (await coordinator.claimSessions(host, free)).length;
      }
    }
    expect(taken).toEqual({ big: 6, small: 2 });
  });

  it('leaves a session to the host that has its files, for a moment', async () => {
    coordinator = await database.createCoordinator({ leaseMs: 60_000 });
    for (const id of ['h1', 'h2']) await coordinator.heartbeat(hostInfo(id, { store_id: 'store' }));
    const { held, prompt_id } = await prompted();
    await beginRun(held, prompt_id, 'r1');
    await held.say({ type: 'run_completed', run_id: 'r1', ok: true });
    await commit(held, 'm.1');
    await coordinator.releaseLease(held.id, held.epoch, 'idle');
    await coordinator.acceptPrompt(held.id, { text: 'more', prompt_id: randomUUID(), by: ada });
    expect(await ids('h2')).toEqual([]);
    // One that drains does not count, and neither does one that does not come in two seconds.
    await coordinator.drainHost('h1', true);
    expect(await ids('h1')).toEqual([]);
    expect(await ids('h2')).toEqual([held.id]);
  });

  it('waits for nobody for long', async () => {
    coordinator = await database.createCoordinator({ leaseMs: 60_000 });
    await coordinator.heartbeat(hostInfo('idle-one'));
    await coordinator.heartbeat(hostInfo('busy-one', { slots: 4 }));
    await make(1);
    await coordinator.claimSessions('busy-one', 1);
    await make(1);
    expect(await ids('busy-one')).toEqual([]);
    await delay(2_050);
    expect(await ids('busy-one')).toHaveLength(1);
  });
});
