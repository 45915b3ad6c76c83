// Short ways to bring a session into the situation a test is about.

import { randomUUID } from 'node:crypto';
import type { HarnessEvent } from '@engram/harness-proto';
import type { Coordinator, HostInfo, NewSession, Session, StoredEvent } from '../src/index.js';

export const ada = { id: 'ada', name: 'Ada' } as const;
export const bob = { id: 'bob', name: 'Bob' } as const;

export const question = {
  question: 'Which editor?',
  header: 'Editor',
  multi_select: false,
  options: [
    { label: 'vi', description: 'small' },
    { label: 'emacs', description: 'large' },
  ],
} as const;

export function hostInfo(host_id: string, more: Partial<HostInfo> = {}): HostInfo {
  return {
    host_id,
    name: host_id,
    version: '0.1.0',
    pid: 1,
    isolation: 'process',
    slots: 8,
    credentials: 'none',
    demo: true,
    ...more,
  };
}

export function makeSession(coordinator: Coordinator, more: Partial<NewSession> = {}): Promise<Session> {
  return coordinator.createSession({ owner: ada, agent: 'claude', workspace: { kind: 'empty' }, ...more });
}

/** A session held by a host: what its harness would say is said through `say`. */
export interface Held {
  readonly id: string;
  readonly epoch: number;
  seq: number;
  say(...events: readonly HarnessEvent[]): Promise<void>;
}

export async function claimOne(coordinator: Coordinator, id: string, hostId = 'h1'): Promise<Held> {
  const claims = await coordinator.claimSessions(hostId, 100);
  const claim = claims.find((each) => each.session.id === id);
  if (claim === undefined) throw new Error('the session was not claimable');
  const held: Held = {
    id,
    epoch: claim.epoch,
    seq: claim.lastHarnessSeq,
    async say(...events) {
      const numbered = events.map((event, at) => ({ seq: held.seq + at + 1, event }));
      const outcome = await coordinator.appendEvents(id, held.epoch, numbered);
      if (!outcome.ok) throw new Error(outcome.reason);
      held.seq = outcome.storedSeq;
    },
  };
  return held;
}

export const ask = (tool_call_id: string, run_id = 'r1'): readonly HarnessEvent[] => [
  { type: 'user_question', run_id, tool_call_id, questions: [question] },
  { type: 'run_completed', run_id, ok: true },
  { type: 'harness_idle' },
];

/** A session asleep with one question on its card. */
export async function makeWaiting(
  coordinator: Coordinator,
  call = 't1',
  more: Partial<NewSession> = {},
): Promise<Held> {
  const session = await makeSession(coordinator, more);
  const prompt_id = randomUUID();
  await coordinator.acceptPrompt(session.id, { text: 'go', prompt_id, by: more.owner ?? ada });
  const held = await claimOne(coordinator, session.id);
  await held.say({ type: 'run_started', run_id: 'r1', prompt_id }, ...ask(call));
  const released = await coordinator.releaseLease(session.id, held.epoch, 'idle');
  if (!released.ok) throw new Error(released.reason);
  return held;
}

export async function allEvents(coordinator: Coordinator, id: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (;;) {
    const page = await coordinator.readEvents(id, events.at(-1)?.idx ?? 0, 1_000);
    events.push(...page.events);
    if (page.events.length === 0 || events.at(-1)?.idx === page.tail) return events;
  }
}

export async function kinds(coordinator: Coordinator, id: string): Promise<readonly string[]> {
  return (await allEvents(coordinator, id)).map((each) => each.event.type);
}

export async function owed(coordinator: Coordinator, id: string): Promise<readonly string[]> {
  const session = await coordinator.getSession(id);
  return (session?.undelivered ?? []).map((each) => `${each.kind}:${each.id}`);
}
