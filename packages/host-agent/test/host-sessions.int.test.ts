// The host against the real coordinator on a real PostgreSQL. The far side of the wire is a small
// peer process, so that faults happen when a test wants them. Here: one session's life and what can break in it.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assigned, isProcessAlive, openStack, type Stack, said, types, withHost } from './host-fixture.js';

let stack: Stack;

beforeAll(async () => {
  stack = await openStack();
});
afterAll(() => stack.close());

describe('a session on a host', () => {
  it('runs a prompt into the log in order and goes to sleep after the soft time-out', () =>
    withHost(stack, async (host) => {
      const { id } = await stack.createSession('hello');
      await stack.untilStatus(id, 'idle');
      expect(types(await stack.events(id))).toEqual([
        'session_created',
        'prompt_received',
        'status_changed',
        'run_started',
        'agent_message',
        'run_completed',
        'harness_idle',
        'status_changed',
        'status_changed',
      ]);
      expect(await assigned(host)).toEqual([]);
      expect(host.agent.sessions()).toEqual([]);
    }));

  it('leaves no process while a question waits, and the answer goes on', () =>
    withHost(
      stack,
      async (host) => {
        const { id } = await stack.createSession('ask');
        const asleep = await stack.untilStatus(id, 'idle');
        expect(asleep.awaiting).toHaveLength(1);
        expect(await assigned(host)).toEqual([]);
        await stack.answer(id, 'toolu_1');
        await stack.untilEvent(id, 'question_answered');
        await stack.untilEvent(id, 'run_completed', 2);
        const events = types(await stack.events(id));
        const answered = events.indexOf('question_answered');
        expect(events.slice(answered - 2, answered)).toEqual(['status_changed', 'run_started']);
        expect((await stack.coordinator.getSession(id))?.awaiting).toEqual([]);
      },
      // The soft time-out is out of the picture: only the waiting question puts it to sleep.
      { idleMs: 600_000 },
    ));

  it('stays awake while a run is open, however silent', () =>
    withHost(
      stack,
      async () => {
        const { id } = await stack.createSession('hang');
        await stack.untilEvent(id, 'run_started');
        await sleep(600);
        expect(await stack.coordinator.getSession(id)).toMatchObject({ status: 'active', running: true });
        await stack.coordinator.interrupt(id, { id: 'local', name: 'you' });
        await stack.untilEvent(id, 'run_interrupted');
      },
      { idleMs: 50 },
    ));

  it('sleeps when asked and wakes when asked', () =>
    withHost(
      stack,
      async () => {
        const { id } = await stack.createSession('hello');
        await stack.untilEvent(id, 'run_completed');
        await stack.coordinator.sleep(id);
        await stack.untilStatus(id, 'idle');
        await stack.coordinator.wake(id);
        await stack.untilStatus(id, 'active');
      },
      { idleMs: 600_000 },
    ));

  it('shows chunks live without storing them', () =>
    withHost(stack, async () => {
      const { id } = await stack.createSession();
      const chunks: string[] = [];
      const unwatch = stack.coordinator.watchSession(id, {
        onEvents: () => undefined,
        onChunk: (chunk) => chunks.push(chunk.chunk),
        onDeleted: () => undefined,
      });
      await stack.prompt(id, 'chunks');
      await stack.untilEvent(id, 'run_completed');
      await stack.until('chunks', () => Promise.resolve(chunks.join('') === 'abc'));
      unwatch();
      expect(types(await stack.events(id))).not.toContain('agent_message_chunk');
    }));

  it('carries a flood in order and completely, and lets the harness forget it', () =>
    withHost(stack, async (host) => {
      const { id } = await stack.createSession('flood 4000');
      await stack.untilStatus(id, 'idle', 60_000);
      expect(said(await stack.events(id))).toEqual(Array.from({ length: 4_000 }, (_, n) => String(n)));
      const saved = JSON.parse(await readFile(join(host.dataDir, 'sessions', id, 'state', 'peer.json'), 'utf8'));
      expect(saved.events.length).toBeLessThan(10);
    }));

  it('holds a question while somebody answers it', () =>
    withHost(
      stack,
      async () => {
        const { id } = await stack.createSession('ask');
        await stack.untilStatus(id, 'idle');
        await stack.coordinator.attendQuestion(id, 'toolu_1', 5_000);
        await stack.untilStatus(id, 'active');
        await stack.untilEvent(id, 'notice');
        await sleep(700);
        expect(await stack.coordinator.getSession(id)).toMatchObject({ status: 'active' });
        await stack.untilStatus(id, 'idle');
      },
      { idleMs: 100 },
    ));
});

describe('when things break', () => {
  it('starts a harness that died in a run again, and stores that the run ended', () =>
    withHost(stack, async () => {
      const { id } = await stack.createSession('die');
      await stack.untilEvent(id, 'run_interrupted');
      await stack.prompt(id, 'starts');
      await stack.untilEvent(id, 'run_completed');
      expect(said(await stack.events(id))).toEqual(['2']);
    }));

  it('fails the session after bounded tries, and a new prompt tries again', () =>
    withHost(
      stack,
      async (host) => {
        const { id } = await stack.createSession('die-before');
        const failed = await stack.untilStatus(id, 'failed');
        expect(failed.undelivered).toHaveLength(1);
        expect(await stack.untilEvent(id, 'session_error')).toMatchObject({ code: 'harness_lost' });
        expect(await assigned(host)).toEqual([]);
        await stack.prompt(id, 'hello');
        await stack.untilEvent(id, 'session_error', 2);
      },
      { timings: { refillDelayMs: 20, policy: { backOffMs: [0, 50] } } },
    ));

  it('loses and doubles nothing when the link is cut', () =>
    withHost(stack, async () => {
      const { id } = await stack.createSession('cut');
      await stack.untilEvent(id, 'run_completed');
      expect(said(await stack.events(id))).toEqual(['before', 'between', 'after']);
    }));

  it('goes on over the newest link when the harness attaches twice', () =>
    withHost(stack, async () => {
      const { id } = await stack.createSession('twice');
      await stack.untilEvent(id, 'run_completed');
      expect(said(await stack.events(id))).toEqual(['on the new link']);
    }));

  it('closes a link that carries nonsense and goes on over the next one', () =>
    withHost(stack, async () => {
      const { id } = await stack.createSession('garbage once');
      await stack.untilEvent(id, 'run_completed');
      expect(said(await stack.events(id))).toEqual(['before', 'after']);
    }));

  it('gives up on a harness that only sends nonsense', () =>
    withHost(
      stack,
      async (host) => {
        const { id } = await stack.createSession('garbage always');
        await stack.untilStatus(id, 'failed');
        expect(await assigned(host)).toEqual([]);
      },
      { timings: { refillDelayMs: 20, policy: { backOffMs: [0, 50] } } },
    ));

  it('refuses a forged attach and leaves the good link alone', () =>
    withHost(stack, async () => {
      const { id } = await stack.createSession('forge');
      await stack.untilEvent(id, 'run_completed');
    }));

  it('kills a harness that does not end when told', () =>
    withHost(stack, async (host) => {
      const { id } = await stack.createSession('deaf');
      await stack.untilStatus(id, 'idle');
      expect(await assigned(host)).toEqual([]);
    }));

  // Case RES-11.
  it('does work that arrives while a session is put to sleep right after, in one new process', () =>
    withHost(
      stack,
      async () => {
        const { id } = await stack.createSession('deaf');
        await stack.untilStatus(id, 'evicting');
        await stack.prompt(id, 'starts');
        await stack.untilEvent(id, 'run_completed', 2);
        expect(said(await stack.events(id))).toEqual(['2']);
        const moves = (await stack.events(id)).flatMap((event) => (event.type === 'status_changed' ? [event.to] : []));
        expect(moves.slice(0, 3)).toEqual(['active', 'evicting', 'active']);
      },
      { idleMs: 100 },
    ));

  it('ends the agent of a harness that was killed, and goes on', () =>
    withHost(stack, async (host) => {
      const { id } = await stack.createSession('agent hang');
      const agentPid = Number(said([await stack.untilEvent(id, 'agent_message')])[0]);
      expect(await isProcessAlive(agentPid)).toBe(true);
      const [harness] = await assigned(host);
      process.kill(harness?.pid ?? 0, 'SIGKILL');
      await stack.untilEvent(id, 'run_interrupted');
      expect(await isProcessAlive(agentPid)).toBe(false);
    }));

  it('fails a session with the next step when the agent program is missing', () =>
    withHost(
      stack,
      async () => {
        const { id } = await stack.createSession('hello');
        await stack.untilStatus(id, 'failed');
        const error = await stack.untilEvent(id, 'session_error');
        expect(error).toMatchObject({
          code: 'agent_not_runnable',
          message: expect.stringContaining('ENGRAM_CLAUDE_BIN'),
        });
      },
      { resolveClaude: () => Promise.resolve({ ok: true, path: '/nowhere/claude' }) },
    ));

  it('says so when there are no credentials', () =>
    withHost(
      stack,
      async () => {
        const { id } = await stack.createSession('hello');
        expect(await stack.untilEvent(id, 'session_error')).toMatchObject({ code: 'no_credentials' });
      },
      { credentials: 'none' },
    ));

  it('lets go without writing when the lease is gone', () =>
    withHost(stack, async (host) => {
      const { id } = await stack.createSession('agent hang');
      const agentPid = Number(said([await stack.untilEvent(id, 'agent_message')])[0]);
      const [harness] = await assigned(host);
      // Epochs count from 1: the first claim of this session.
      expect(await stack.coordinator.releaseLease(id, 1, 'host_lost')).toEqual({ ok: true });
      const before = (await stack.events(id)).length;
      await stack.until('let go', async () => !(await isProcessAlive(agentPid)));
      await stack.until('harness gone', async () => !(await isProcessAlive(harness?.pid ?? 0)));
      expect((await stack.events(id)).slice(before).filter((event) => event.type !== 'status_changed')).toEqual([]);
    }));
});

describe('when the database is away for a while', () => {
  it.each([
    ['a moment', 1_500],
    ['longer than its leases', 5_000],
  ] as const)('%s: loses nothing of what the agent did meanwhile and delivers what was accepted', (_, awayMs) =>
    withHost(
      stack,
      async () => {
        // All words are said by the time the database is back: the peer takes one prompt at a time.
        const { id } = await stack.createSession('drip 20');
        await stack.until('first words', async () => said(await stack.events(id)).length > 3);
        await stack.restartPostgres(awayMs);
        await stack.prompt(id, 'hello');
        await stack.until('the prompt is done', async () => said(await stack.events(id)).includes('hello'), 30_000);
        const expected = Array.from({ length: 20 }, (_, n) => String(n));
        expect(said(await stack.events(id))).toEqual([...expected, 'hello']);
        const rested = async () => (await stack.coordinator.getSession(id))?.running === false;
        await stack.until('its run is over', rested);
        expect(await stack.coordinator.getSession(id)).toMatchObject({ status: 'active' });
      },
      { idleMs: 600_000 },
    ),
  );
});
