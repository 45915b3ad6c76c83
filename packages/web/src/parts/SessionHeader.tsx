// The session's name, its state in words, and what can be done to it as a whole.

import { useState } from 'react';
import { api, reasonOf } from '../api-client.js';
import type { Session } from '../api-types.js';
import { compactNumber, dollars } from '../format.js';
import { words } from '../strings.js';
import { Icon } from './Icon.js';
import { DEMO_MODEL } from './SessionList.js';
import { VisibleText } from './VisibleText.js';

interface Props {
  readonly session: Session;
  readonly state: string;
  readonly waiting: boolean;
  /** It cannot go on by itself. */
  readonly stopped: boolean;
  readonly readOnly: boolean;
  readonly changesOpen: boolean;
  readonly onToggleChanges: (() => void) | undefined;
  readonly onShowList: (() => void) | undefined;
  readonly onChanged: () => void;
  readonly onDelete: () => void;
  readonly onFind: () => void;
}

function usageWords({ usage }: Session): string {
  const parts: string[] = [];
  if (usage.output_tokens > 0) parts.push(words.outputTokens(compactNumber(usage.output_tokens)));
  if (usage.cost_micro_usd > 0) parts.push(dollars(usage.cost_micro_usd));
  return parts.join(' · ');
}

function whereWords({ workspace }: Session): string {
  switch (workspace.kind) {
    case 'path':
      return workspace.path;
    case 'git':
      return workspace.ref === undefined ? workspace.url : `${workspace.url} @ ${workspace.ref}`;
    case 'empty':
      return words.header.ownFolder;
  }
}

export function SessionHeader(props: Props) {
  const { session, state, waiting, stopped, readOnly, changesOpen } = props;
  const { onToggleChanges, onShowList, onChanged, onDelete, onFind } = props;
  const [editing, setEditing] = useState<string | undefined>();
  const [error, setError] = useState<string | undefined>();

  async function attempt(call: () => Promise<void>, done: () => void) {
    setError(undefined);
    try {
      await call();
      done();
    } catch (cause) {
      setError(reasonOf(cause));
    }
  }

  function saveTitle() {
    const title = editing?.trim();
    setEditing(undefined);
    if (title === undefined || title === '' || title === session.title) return;
    void attempt(() => api.renameSession(session.id, title), onChanged);
  }

  const usage = usageWords(session);
  return (
    <header className="border-line border-b px-4 py-2 max-md:px-2">
      <div className="flex items-center gap-2">
        {onShowList !== undefined && (
          <button
            type="button"
            className="btn btn-quiet px-1.5!"
            aria-label={words.header.backToList}
            onClick={onShowList}
          >
            <Icon name="list" />
          </button>
        )}
        <div className="flex min-w-0 grow items-baseline gap-x-3 max-md:flex-col">
          {editing === undefined ? (
            <h1 className="max-w-full min-w-0 truncate text-[15px] font-semibold">
              <VisibleText text={session.title === '' ? words.header.untitled : session.title} />
            </h1>
          ) : (
            <input
              // biome-ignore lint/a11y/noAutofocus: the field replaces the title the person asked to edit
              autoFocus
              className="field max-w-[50ch] grow"
              aria-label={words.header.titleField}
              value={editing}
              onChange={(event) => setEditing(event.target.value)}
              onBlur={saveTitle}
              onKeyDown={(event) => {
                if (event.key === 'Enter') saveTitle();
                if (event.key === 'Escape') setEditing(undefined);
              }}
            />
          )}
          <span className="flex shrink-0 items-baseline gap-2">
            <span
              role="status"
              aria-label={words.header.statusLabel}
              className={`whitespace-nowrap text-[12.5px] ${waiting ? 'text-waiting font-semibold' : stopped ? 'text-danger font-semibold' : 'text-muted'}`}
            >
              {state}
            </span>
            {session.model === DEMO_MODEL && <span className="chip">{words.demo}</span>}
          </span>
        </div>
        <span className="flex shrink-0 gap-1">
          <button
            type="button"
            className="btn btn-quiet px-1.5!"
            aria-label={words.find.open}
            title={words.find.open}
            onClick={onFind}
          >
            <Icon name="find" />
          </button>
          {!readOnly && (
            <>
              <button
                type="button"
                className="btn btn-quiet px-1.5!"
                aria-label={words.header.rename}
                title={words.header.rename}
                onClick={() => setEditing(session.title)}
              >
                <Icon name="pencil" />
              </button>
              <button
                type="button"
                className="btn btn-quiet px-1.5!"
                aria-label={words.header.delete}
                title={words.header.delete}
                onClick={onDelete}
              >
                <Icon name="bin" />
              </button>
            </>
          )}
          {onToggleChanges !== undefined && (
            <button
              type="button"
              className="btn aria-pressed:bg-hover"
              aria-pressed={changesOpen}
              onClick={onToggleChanges}
            >
              {words.changes.toggle}
            </button>
          )}
        </span>
      </div>
      <p className="text-muted flex items-baseline gap-3 text-[12px] max-md:px-1">
        <span className="min-w-0 grow truncate font-mono">
          <VisibleText text={whereWords(session)} />
        </span>
        {usage !== '' && <span className="whitespace-nowrap">{usage}</span>}
      </p>
      {error !== undefined && (
        <p role="alert" className="text-danger text-[12.5px]">
          {error}
        </p>
      )}
    </header>
  );
}
