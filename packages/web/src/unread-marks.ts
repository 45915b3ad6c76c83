// Which sessions brought something since this browser last showed them. "Something" is work done or
// a failure: told by what a finished run counted, so that a session falling asleep is not news.

import type { Session } from './api-types.js';
import { isJsonObject } from './parse-event.js';

/** What was seen of each session, by its id. */
export type SeenMarks = Readonly<Record<string, string>>;

const KEY = 'engram.seen';

export function markOf({ usage, status }: Session): string {
  return `${usage.output_tokens}${status === 'failed' ? '!' : ''}`;
}

export function isUnread(session: Session, seen: SeenMarks): boolean {
  const known = seen[session.id];
  return known !== undefined && known !== markOf(session) && !session.running;
}

/** The marks after this list was shown with `openId` open; the same object when nothing changed. */
export function updateSeen(seen: SeenMarks, sessions: readonly Session[], openId: string | undefined): SeenMarks {
  const next: Record<string, string> = {};
  let changed = Object.keys(seen).length !== sessions.length;
  for (const session of sessions) {
    const known = seen[session.id];
    // A session met for the first time begins as it is; it becomes news when it moves on.
    const mark = known === undefined || session.id === openId ? markOf(session) : known;
    next[session.id] = mark;
    changed ||= mark !== known;
  }
  return changed ? next : seen;
}

export function loadSeen(): SeenMarks {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '');
    if (!isJsonObject(value)) return {};
    return Object.fromEntries(
      Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
  } catch {
    return {};
  }
}

export function saveSeen(seen: SeenMarks): void {
  localStorage.setItem(KEY, JSON.stringify(seen));
}
