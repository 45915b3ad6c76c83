// Where a session stands in the list, and the words for its state. Pure.

import type { Session, SessionStatus } from './api-types.js';
import { words } from './strings.js';

export type GroupName = 'waiting' | 'working' | 'done' | 'sleeping' | 'failed';

export interface SessionGroup {
  readonly name: GroupName;
  readonly sessions: readonly Session[];
}

export const GROUP_ORDER = ['waiting', 'working', 'done', 'sleeping', 'failed'] as const;

/** True while something is asked that a person can still answer (or must send again). */
export function isWaiting(session: Session): boolean {
  return session.awaiting.some((question) => question.state !== 'sent');
}

/** Tells whether a session has finished something that nobody has looked at yet. */
export type IsDone = (session: Session) => boolean;

export function groupOf(session: Session, isDone: IsDone): GroupName {
  if (isWaiting(session)) return 'waiting';
  if (session.status === 'failed' || session.status === 'host_lost') return 'failed';
  if (session.running || session.status === 'created' || session.undelivered.length > 0) return 'working';
  return isDone(session) ? 'done' : 'sleeping';
}

/** Groups that have sessions; those that wait longest come first, all else newest activity first. */
export function groupSessions(sessions: readonly Session[], isDone: IsDone): readonly SessionGroup[] {
  const groups: SessionGroup[] = [];
  for (const name of GROUP_ORDER) {
    const members = sessions.filter((session) => groupOf(session, isDone) === name);
    if (members.length === 0) continue;
    members.sort((a, b) =>
      name === 'waiting'
        ? (a.awaiting[0]?.asked_at ?? '').localeCompare(b.awaiting[0]?.asked_at ?? '')
        : b.updated_at.localeCompare(a.updated_at),
    );
    groups.push({ name, sessions: members });
  }
  return groups;
}

export function countWaiting(sessions: readonly Session[]): number {
  return sessions.filter(isWaiting).length;
}

export function pageTitle(waiting: number, sessionTitle?: string): string {
  const base = sessionTitle === undefined || sessionTitle === '' ? words.appName : `${sessionTitle} · ${words.appName}`;
  return waiting > 0 ? `(${waiting}) ${base}` : base;
}

export interface StatusFacts {
  readonly status: SessionStatus;
  readonly running: boolean;
  readonly waiting: boolean;
  readonly pendingWork: boolean;
}

/** The header's words, e.g. "sleeping · waiting for you". */
export function statusWords({ status, running, waiting, pendingWork }: StatusFacts): string {
  const base = running ? words.status.working : statusBase(status, pendingWork);
  return waiting && !running ? `${base} · ${words.status.waiting}` : base;
}

function statusBase(status: SessionStatus, pendingWork: boolean): string {
  switch (status) {
    case 'created':
      return words.status.starting;
    case 'active':
      return words.status.awake;
    case 'evicting':
      return words.status.fallingAsleep;
    case 'idle':
      return pendingWork ? words.status.waking : words.status.sleeping;
    case 'host_lost':
      return words.status.hostLost;
    case 'failed':
      return words.status.failed;
  }
}
