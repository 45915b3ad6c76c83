// The sessions by state, those that wait for a person first, each with what it asks.

import { useState } from 'react';
import type { Session } from '../api-types.js';
import { navigate, toPath } from '../route.js';
import { type GroupName, groupSessions, type IsDone, isWaiting } from '../session-groups.js';
import { words } from '../strings.js';
import { TimeAgo } from './Time.js';
import { VisibleText } from './VisibleText.js';

export const DEMO_MODEL = 'engram-demo';

const MARKS: Readonly<Record<GroupName, { readonly sign: string; readonly tone: string }>> = {
  waiting: { sign: '●', tone: 'text-waiting-mark' },
  working: { sign: '◐', tone: 'text-accent' },
  done: { sign: '✓', tone: 'text-accent' },
  sleeping: { sign: '○', tone: 'text-muted' },
  failed: { sign: '✕', tone: 'text-danger' },
};

function matches(session: Session, filter: string): boolean {
  const needle = filter.trim().toLowerCase();
  if (needle === '') return true;
  const { workspace } = session;
  const where = workspace.kind === 'path' ? workspace.path : workspace.kind === 'git' ? workspace.url : '';
  return `${session.title}\n${where}`.toLowerCase().includes(needle);
}

function secondLine(session: Session): string | undefined {
  const asked = session.awaiting[0];
  if (asked === undefined) return undefined;
  if (!isWaiting(session)) return words.answerSent;
  return asked.questions[0]?.question;
}

interface Props {
  readonly sessions: readonly Session[];
  readonly loaded: boolean;
  readonly selectedId: string | undefined;
  readonly isUnread: (session: Session) => boolean;
  readonly isDone: IsDone;
  readonly onOpened?: () => void;
}

export function SessionList({ sessions, loaded, selectedId, isUnread, isDone, onOpened }: Props) {
  const [filter, setFilter] = useState('');
  const shown = sessions.filter((session) => matches(session, filter));
  const groups = groupSessions(shown, isDone);
  return (
    <nav aria-label={words.sessions} className="flex min-h-0 grow flex-col">
      {sessions.length > 7 && (
        <div className="px-2 pb-1">
          <input
            type="search"
            className="field"
            aria-label={words.filterSessions}
            placeholder={words.filterSessions}
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
        </div>
      )}
      <div className="scroll-y min-h-0 grow pb-3">
        {loaded && sessions.length === 0 && <p className="text-muted px-3 py-2">{words.emptyList}</p>}
        {sessions.length > 0 && shown.length === 0 && <p className="text-muted px-3 py-2">{words.emptyFilter}</p>}
        {groups.map((group) => (
          <section key={group.name} aria-label={words.groups[group.name]}>
            <h2
              className={`bg-surface sticky top-0 flex justify-between px-3 pt-3 pb-1 text-[12px] font-semibold ${
                group.name === 'waiting' ? 'text-waiting' : 'text-muted'
              }`}
            >
              <span>{words.groups[group.name]}</span>
              <span>{group.sessions.length}</span>
            </h2>
            <ul>
              {group.sessions.map((session) => (
                <SessionItem
                  key={session.id}
                  session={session}
                  group={group.name}
                  selected={session.id === selectedId}
                  unread={isUnread(session)}
                  onOpened={onOpened}
                />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </nav>
  );
}

interface ItemProps {
  readonly session: Session;
  readonly group: GroupName;
  readonly selected: boolean;
  readonly unread: boolean;
  readonly onOpened: (() => void) | undefined;
}

function SessionItem({ session, group, selected, unread, onOpened }: ItemProps) {
  const mark = MARKS[group];
  const second = secondLine(session);
  const asked = session.awaiting[0];
  return (
    <li className="[content-visibility:auto] [contain-intrinsic-size:auto_44px]">
      <a
        href={toPath({ name: 'session', id: session.id })}
        aria-current={selected ? 'page' : undefined}
        className="hover:bg-hover aria-[current]:bg-hover mx-1 flex gap-2 rounded px-2 py-1.5 no-underline md:py-1"
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          navigate({ name: 'session', id: session.id });
          onOpened?.();
        }}
      >
        <span aria-hidden className={`w-3 shrink-0 text-center text-[11px] ${mark.tone}`}>
          {mark.sign}
        </span>
        <span className="min-w-0 grow">
          <span className="flex items-baseline gap-2">
            <span className={`min-w-0 grow truncate ${group === 'waiting' || unread ? 'font-semibold' : ''}`}>
              <VisibleText text={session.title === '' ? words.header.untitled : session.title} />
            </span>
            {session.model === DEMO_MODEL && <span className="chip shrink-0">{words.demo}</span>}
            {(group === 'sleeping' || group === 'done') && session.status === 'active' && (
              <span className="text-muted shrink-0 text-[12px]">{words.status.awake}</span>
            )}
            {unread && (
              <span className="text-accent shrink-0 text-[11px]" title={words.unread}>
                <span aria-hidden>●</span>
                <span className="sr-only">{words.unread}</span>
              </span>
            )}
            <TimeAgo at={asked?.asked_at ?? session.updated_at} />
          </span>
          {second !== undefined && (
            <span className="text-muted block truncate text-[12.5px]">
              <VisibleText text={second} />
            </span>
          )}
        </span>
      </a>
    </li>
  );
}
