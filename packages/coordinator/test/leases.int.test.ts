// Who may run a session, and what becomes of it when its host is gone.

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Coordinator } from '../src/index.js';
import { ada, allEvents, ask, claimOne, hostInfo, kinds, makeSession, makeWaiting } from './scenes.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;
let coordinator: Coordinator;
const LEASE_MS = 400;

beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database.stop());

/** A database of its own for each test: a claim takes whatever it finds. */
async function fresh(): Promise<void> {
  coordinator = await database.createCoordinator({ leaseMs: LEASE_MS });
}

const ids = async (hostId: string, limit = 100) =>
  (await coordinator.claimSessions(hostId, limit)).map((claim) => claim.session.id);
const status = async (id: string) => (await coordinator.getSession(id))?.status;

describe('claims', () => {
  it('takes what has work, stores the change of status, and tells what was before', async () => {
    await fresh();
    const quiet = await makeSession(coordinator);
    const busy = await makeSession(coordinator, { prompt: 'x' });
    const claims = await coordinator.claimSessions('h1', 10);
    expect(claims).toMatchObject([
      { session: { id: busy.id, status: 'active' }, epoch: 1, previous: 'created', lastHarnessSeq: 0 },
    ]);
    expect(await status(quiet.id)).toBe('created');
    expect((await allEvents(coordinator, busy.id)).at(-1)?.event).toEqual({
      type: 'status_changed',
      from: 'created',
      to: 'active',
    });
    expect(await ids('h2')).toEqual([]);
  });

  it('gives each session to one of many hosts that ask at once', async () => {
    await fresh();
    const made = await Promise.all(Array.from({ length: 20 }, () => makeSession(coordinator, { prompt: 'x' })));
    const claimed = (await Promise.all(['a', 'b', 'c', 'd'].map((host) => ids(host, 20)))).flat();
    expect([...claimed].sort()).toEqual(made.map((each) => each.id).sort());
  });

  it('refuses every write of a host whose session was claimed by another', async () => {
    await fresh();
    const session = await makeSession(coordinator, { prompt: 'x' });
    const old = await claimOne(coordinator, session.id, 'h1');
    await delay(LEASE_MS + 50);
    const now = await claimOne(coordinator, session.id, 'h2');
    expect(now.epoch).toBe(old.epoch + 1);
    const event = { type: 'harness_idle' } as const;
    const stale = { ok: false, reason: 'stale_epoch' };
    expect(await coordinator.appendEvents(session.id, old.epoch, [{ seq: 1, event }])).toEqual(stale);
    expect(
      await coordinator.appendHostEvent(session.id, old.epoch, { type: 'session_error', code: 'c', message: 'm' }),
    ).toEqual(stale);
    expect(await coordinator.setStatus(session.id, old.epoch, 'evicting')).toEqual(stale);
    expect(await coordinator.releaseLease(session.id, old.epoch, 'idle')).toEqual(stale);
    expect(await coordinator.attachFacts(session.id, old.epoch)).toEqual(stale);
    expect(await coordinator.commandsAfter(session.id, old.epoch, 0)).toEqual(stale);
    expect(await coordinator.renewLeases('h1', [{ sessionId: session.id, epoch: old.epoch }])).toEqual({
      lost: [session.id],
    });
    expect(await coordinator.renewLeases('h2', [{ sessionId: session.id, epoch: now.epoch }])).toEqual({ lost: [] });
    await now.say(event);
  });

  it('refuses writes after the lease was given up, or the session deleted', async () => {
    await fresh();
    const held = await makeWaiting(coordinator);
    const late = () =>
      coordinator.appendEvents(held.id, held.epoch, [{ seq: held.seq + 1, event: { type: 'harness_idle' } }]);
    expect(await late()).toEqual({ ok: false, reason: 'stale_epoch' });
    await coordinator.deleteSession(held.id);
    expect(await late()).toEqual({ ok: false, reason: 'stale_epoch' });
  });

  it('keeps a renewed lease', async () => {
    await fresh();
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    for (let at = 0; at < 4; at += 1) {
      await delay(LEASE_MS / 2);
      expect(await coordinator.renewLeases('h1', [{ sessionId: session.id, epoch: held.epoch }])).toEqual({ lost: [] });
      expect(await ids('h2')).toEqual([]);
    }
  });

  it('wakes a session for an attend while it lasts, and for wake, but not for a waiting question alone', async () => {
    await fresh();
    const { id } = await makeWaiting(coordinator);
    expect(await ids('h1')).toEqual([]);
    await coordinator.attendQuestion(id, 't1', 60_000);
    const held = await claimOne(coordinator, id);
    const wishes = await coordinator.sessionWishes(id);
    expect(wishes).toMatchObject({ sleep: false, deleted: false, attend: { tool_call_id: 't1' } });
    expect(wishes.attend?.remainingMs).toBeGreaterThan(50_000);
    expect(await coordinator.releaseLease(id, held.epoch, 'idle')).toEqual({ ok: false, reason: 'work_waiting' });
    await coordinator.attendQuestion(id, 't1', 0);
    expect(await coordinator.sessionWishes(id)).toEqual({ sleep: false, deleted: false });
    expect(await coordinator.releaseLease(id, held.epoch, 'idle')).toEqual({ ok: true });
    await coordinator.attendQuestion(id, 't1', 1);
    await delay(20);
    expect(await ids('h1')).toEqual([]);
    expect(await coordinator.wake(id)).toEqual({ ok: true, status: 'idle' });
    expect(await ids('h1')).toEqual([id]);
  });

  it('sleeps on request unless a run is open', async () => {
    await fresh();
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    await held.say({
      type: 'run_started',
      run_id: 'r',
      prompt_id: (await coordinator.getSession(session.id))?.undelivered[0]?.id ?? '',
    });
    expect(await coordinator.sleep(session.id)).toEqual({ ok: false, reason: 'run_open' });
    await held.say({ type: 'run_completed', run_id: 'r', ok: true });
    expect(await coordinator.sleep(session.id)).toEqual({ ok: true, status: 'active' });
    expect((await coordinator.sessionWishes(session.id)).sleep).toBe(true);
    expect(await coordinator.releaseLease(session.id, held.epoch, 'idle')).toEqual({ ok: true });
    expect((await coordinator.sessionWishes(session.id)).sleep).toBe(false);
  });
});

describe('hosts that go away', () => {
  it('loses an idle session of a dead host to nobody: it sleeps', async () => {
    await fresh();
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    const promptId = (await coordinator.getSession(session.id))?.undelivered[0]?.id ?? '';
    await held.say({ type: 'run_started', run_id: 'r', prompt_id: promptId }, ...ask('t1', 'r'));
    await delay(LEASE_MS + 50);
    expect(await ids('h2')).toEqual([]);
    expect(await status(session.id)).toBe('idle');
    expect((await kinds(coordinator, session.id)).at(-1)).toBe('status_changed');
  });

  it('gives a session with an open run to another host', async () => {
    await fresh();
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    const promptId = (await coordinator.getSession(session.id))?.undelivered[0]?.id ?? '';
    await held.say({ type: 'run_started', run_id: 'r', prompt_id: promptId });
    await delay(LEASE_MS + 50);
    expect(await coordinator.claimSessions('h2', 9)).toMatchObject([
      { session: { id: session.id, running: true }, previous: 'active' },
    ]);
  });

  it('binds a path workspace to its host: lost with it, asleep again when it returns', async () => {
    await fresh();
    const session = await makeSession(coordinator, { prompt: 'x', workspace: { kind: 'path', path: '/tmp' } });
    const held = await claimOne(coordinator, session.id, 'h1');
    const promptId = (await coordinator.getSession(session.id))?.undelivered[0]?.id ?? '';
    await held.say({ type: 'run_started', run_id: 'r', prompt_id: promptId }, ...ask('t1', 'r'));
    await delay(LEASE_MS + 50);
    expect(await ids('h2')).toEqual([]);
    expect(await status(session.id)).toBe('host_lost');
    await coordinator.acceptAnswer(session.id, { tool_call_id: 't1', answers: { 'Which editor?': ['vi'] }, by: ada });
    expect(await ids('h2')).toEqual([]);
    expect(await coordinator.claimSessions('h1', 9)).toMatchObject([
      { session: { id: session.id }, previous: 'host_lost' },
    ]);
  });

  it('puts a path session to rest when its host returns and nothing waits', async () => {
    await fresh();
    const { id } = await makeWaiting(coordinator, 't1', { workspace: { kind: 'path', path: '/tmp' } });
    await coordinator.wake(id);
    await claimOne(coordinator, id, 'h1');
    await delay(LEASE_MS + 50);
    await ids('h2');
    expect(await status(id)).toBe('host_lost');
    expect(await ids('h1')).toEqual([]);
    expect(await status(id)).toBe('idle');
  });

  it('ends the leases of a host at once when it starts anew', async () => {
    const connection = await database.makeDatabase();
    const first = await database.createCoordinator({ connection, leaseMs: 60_000 });
    const second = await database.createCoordinator({ connection, leaseMs: 60_000 });
    coordinator = first;
    await first.heartbeat(hostInfo('h1'));
    const session = await makeSession(first, { prompt: 'x' });
    await claimOne(first, session.id, 'h1');
    await first.heartbeat(hostInfo('h1'));
    expect(await second.claimSessions('h1', 9)).toEqual([]);
    await second.heartbeat(hostInfo('h1'));
    expect(await second.claimSessions('h1', 9)).toMatchObject([{ session: { id: session.id }, epoch: 2 }]);
  });

  it('ends the open run of a session that fails, and hears of that end once', async () => {
    await fresh();
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    const run = { type: 'run_started', run_id: 'r' } as const;
    await coordinator.appendEvents(session.id, held.epoch, [{ seq: 1, event: run }]);
    await coordinator.interrupt(session.id, ada);
    await coordinator.releaseLease(session.id, held.epoch, 'failed');
    expect(await coordinator.getSession(session.id)).toMatchObject({ status: 'failed', running: false });
    await coordinator.wake(session.id);
    const again = await claimOne(coordinator, session.id);
    const facts = await coordinator.attachFacts(session.id, again.epoch);
    expect('commands' in facts && facts.commands.map((one) => one.command.type)).toEqual(['prompt']);
    const failed = { type: 'run_completed', run_id: 'r', ok: false } as const;
    await coordinator.appendEvents(session.id, again.epoch, [{ seq: 2, event: failed }]);
    const { events } = await coordinator.readEvents(session.id, 0, 100);
    expect(events.map((stored) => stored.event.type).filter((type) => type.startsWith('run_'))).toEqual([
      'run_started',
      'run_interrupted',
    ]);
  });

  it('ends the run that a stopping host leaves open, and hears of that end once', async () => {
    await fresh();
    const session = await makeSession(coordinator);
    await coordinator.acceptPrompt(session.id, { text: 'x', prompt_id: 'p', by: ada });
    const held = await claimOne(coordinator, session.id);
    const run = { type: 'run_started', run_id: 'r', prompt_id: 'p' } as const;
    await coordinator.appendEvents(session.id, held.epoch, [{ seq: 1, event: run }]);
    expect(await coordinator.releaseLease(session.id, held.epoch, 'idle')).toEqual({ ok: true });
    expect(await coordinator.getSession(session.id)).toMatchObject({ status: 'idle', running: false });
    await coordinator.wake(session.id);
    const again = await claimOne(coordinator, session.id);
    await coordinator.appendEvents(session.id, again.epoch, [
      { seq: 2, event: { type: 'run_interrupted', run_id: 'r' } },
    ]);
    const { events } = await coordinator.readEvents(session.id, 0, 100);
    expect(events.map((stored) => stored.event.type).filter((type) => type.startsWith('run_'))).toEqual([
      'run_started',
      'run_interrupted',
    ]);
  });

  it('tries a failed session again only when something new asks', async () => {
    await fresh();
    const session = await makeSession(coordinator, { prompt: 'x' });
    const held = await claimOne(coordinator, session.id);
    await coordinator.appendHostEvent(session.id, held.epoch, {
      type: 'session_error',
      code: 'agent_start',
      message: 'm',
    });
    expect(await coordinator.releaseLease(session.id, held.epoch, 'failed')).toEqual({ ok: true });
    expect(await status(session.id)).toBe('failed');
    expect(await ids('h1')).toEqual([]);
    await coordinator.acceptPrompt(session.id, { text: 'again', prompt_id: 'p2', by: ada });
    const again = await claimOne(coordinator, session.id);
    const facts = await coordinator.attachFacts(session.id, again.epoch);
    expect('commands' in facts && facts.commands.length).toBe(2);
    await coordinator.releaseLease(session.id, again.epoch, 'failed');
    await coordinator.wake(session.id);
    expect(await ids('h1')).toEqual([session.id]);
  });
});

describe('hosts', () => {
  it('shows what hosts say of themselves, and a draining one claims nothing', async () => {
    await fresh();
    expect(await coordinator.heartbeat(hostInfo('h1', { claude_version: '2.1.183' }))).toEqual({ draining: false });
    const session = await makeSession(coordinator, { prompt: 'x' });
    expect(await coordinator.drainHost('h1', true)).toBe(true);
    expect(await coordinator.drainHost('nobody', true)).toBe(false);
    expect(await coordinator.heartbeat(hostInfo('h1'))).toEqual({ draining: true });
    expect(await ids('h1')).toEqual([]);
    await coordinator.drainHost('h1', false);
    expect(await ids('h1')).toEqual([session.id]);
    const { seen_at, ...row } = (await coordinator.listHosts())[0] ?? { seen_at: '' };
    expect(seen_at).toMatch(/Z$/);
    expect(row).toEqual({ ...hostInfo('h1'), files_only_here: 0, alive: true, draining: false, sessions: 1 });
    expect(await coordinator.figures()).toMatchObject({ sessionsByStatus: { active: 1 }, undeliveredCommands: 1 });
  });
});
