// ⌘K: find a session by its title, its folder or what it asks, and go there.

import { useId, useState } from 'react';
import type { Session } from '../api-types.js';
import { groupOf, groupSessions, type IsDone } from '../session-groups.js';
import { words } from '../strings.js';
import { Dialog } from './Dialog.js';
import { VisibleText } from './VisibleText.js';

interface Props {
  readonly sessions: readonly Session[];
  readonly isDone: IsDone;
  readonly onClose: () => void;
  readonly onGo: (session: Session) => void;
}

function textOf(session: Session): string {
  const { workspace, awaiting, title } = session;
  const where = workspace.kind === 'path' ? workspace.path : workspace.kind === 'git' ? workspace.url : '';
  return [title, where, ...awaiting.flatMap((a) => a.questions.map((q) => q.question))].join('\n').toLowerCase();
}

export function GoToDialog({ sessions, isDone, onClose, onGo }: Props) {
  const id = useId();
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = groupSessions(sessions, isDone)
    .flatMap((group) => group.sessions)
    .filter((session) => terms.every((term) => textOf(session).includes(term)))
    .slice(0, 30);
  const chosen = found[Math.min(at, found.length - 1)];
  return (
    <Dialog title={words.goTo.title} onClose={onClose}>
      <input
        data-autofocus
        type="text"
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={chosen === undefined ? undefined : `${id}${chosen.id}`}
        aria-label={words.goTo.title}
        placeholder={words.goTo.placeholder}
        className="field"
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setAt(Math.min(found.length - 1, at + 1));
          else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
          else if (event.key === 'Enter' && chosen !== undefined) onGo(chosen);
          else return;
          event.preventDefault();
        }}
      />
      <div id={id} role="listbox" aria-label={words.sessions} className="pt-2">
        {found.map((session) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
          <div
            key={session.id}
            id={`${id}${session.id}`}
            role="option"
            aria-selected={session === chosen}
            tabIndex={-1}
            className="hover:bg-hover aria-selected:bg-hover flex gap-3 rounded px-2 py-1"
            onClick={() => onGo(session)}
          >
            <span className="min-w-0 grow truncate">
              <VisibleText text={session.title === '' ? words.header.untitled : session.title} />
            </span>
            <span className={groupOf(session, isDone) === 'waiting' ? 'text-waiting' : 'text-muted'}>
              {words.groups[groupOf(session, isDone)]}
            </span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="text-muted px-2 py-2">{words.goTo.none}</p>}
    </Dialog>
  );
}
