// One session on the page: header, conversation, the open question, the composer and the changes.
// Everything it shows of the session's past and state comes from the log.

import { useEffect, useMemo, useRef, useState } from 'react';
import type { Session } from '../api-types.js';
import { buildStored, withLive } from '../build-messages.js';
import type { ChangeRow, RunRow } from '../conversation-rows.js';
import { withWholeTexts } from '../prompt-queue.js';
import { navigate } from '../route.js';
import { useSessionFeed } from '../session-feed.js';
import { isWaiting, statusWords } from '../session-groups.js';
import { words } from '../strings.js';
import { useIsPhone, useRefreshSessions } from '../use-server.js';
import { ChangesPane } from './ChangesPane.js';
import { Composer } from './Composer.js';
import { ConnectionLine } from './ConnectionLine.js';
import { Conversation, type ConversationHandle } from './Conversation.js';
import { ErrorBoundary } from './ErrorBoundary.js';
import { FindBar } from './FindBar.js';
import { QuestionDock } from './QuestionDock.js';
import { SessionHeader } from './SessionHeader.js';
import { DEMO_MODEL } from './SessionList.js';
import { StoppedLine } from './StoppedLine.js';

interface Props {
  readonly session: Session;
  /** Of somebody else: to be read. The server's policy lets the owner alone write and answer. */
  readonly readOnly: boolean;
  readonly changesOpen: boolean;
  readonly onChangesOpen: (open: boolean) => void;
  readonly findOpen: boolean;
  readonly onFindOpen: (open: boolean) => void;
  readonly onShowList: (() => void) | undefined;
  readonly onDelete: () => void;
}

function Gone({ text }: { readonly text: string }) {
  return (
    <main className="p-6">
      <p>{text}</p>
      <button type="button" className="btn mt-3" onClick={() => navigate({ name: 'home' })}>
        {words.backToSessions}
      </button>
    </main>
  );
}

export function SessionView(props: Props) {
  const { session, readOnly, changesOpen, onChangesOpen, findOpen, onFindOpen, onShowList, onDelete } = props;
  const { log, connection, caughtUp, retryNow } = useSessionFeed(session.id);
  const phone = useIsPhone();
  const refresh = useRefreshSessions();
  const field = useRef<HTMLTextAreaElement>(null);
  const conversation = useRef<ConversationHandle>(null);
  const whole = log.firstIdx === 1;
  const stored = useMemo(() => buildStored(log.events, whole), [log.events, whole]);
  const view = useMemo(() => withLive(stored, log.live), [stored, log.live]);
  const changes = useMemo(() => stored.rows.filter((row): row is ChangeRow => row.kind === 'change'), [stored]);
  const runs = useMemo(() => stored.rows.filter((row): row is RunRow => row.kind === 'run'), [stored]);
  const queue = useMemo(() => withWholeTexts(view.queue, session.undelivered), [view.queue, session.undelivered]);
  const [found, setFound] = useState<string | undefined>();
  const [query, setQuery] = useState('');
  const [jump, setJump] = useState<string | undefined>();
  /** On a phone the conversation is not there while the changes are: done once it is. */
  const [openAll, setOpenAll] = useState<boolean | undefined>();

  // The list is asked again when this session's log says that its place in the list changed.
  const standing = `${view.status}${view.running}${view.openCards.map((c) => c.toolCallId + c.state.status)}${view.queue.length}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `standing` is the reason to ask
  useEffect(refresh, [standing]);

  useEffect(() => {
    if (jump === undefined) return;
    conversation.current?.showRow(jump);
    setJump(undefined);
  }, [jump]);
  useEffect(() => {
    if (openAll === undefined) return;
    conversation.current?.openChanges(openAll);
    setOpenAll(undefined);
  }, [openAll]);

  if (view.deleted || (connection.status === 'ended' && connection.reason === 'deleted')) {
    return <Gone text={words.sessionDeleted} />;
  }
  if (connection.status === 'ended' && connection.reason === 'not_found') return <Gone text={words.sessionGone} />;

  // What the part that is not read yet decides, the server's own summary says.
  const unread = !caughtUp || !whole;
  const waiting = view.openCards.some((card) => card.state.status !== 'sent') || (unread && isWaiting(session));
  const running = view.running || (unread && session.running);
  const state = statusWords({
    status: view.status ?? session.status,
    running,
    waiting,
    pendingWork:
      view.queue.length > 0 ||
      view.rows.some((row) => row.kind === 'prompt' && row.pending === 'waking') ||
      view.openCards.some((card) => card.state.status === 'sent'),
  });
  const tab = phone && changesOpen ? 'changes' : 'conversation';

  return (
    <div className="flex min-h-0 min-w-0 grow">
      <main className="flex min-h-0 min-w-0 grow flex-col">
        <SessionHeader
          session={session}
          state={state}
          waiting={waiting}
          readOnly={readOnly}
          stopped={['failed', 'host_lost'].includes(view.status ?? session.status)}
          changesOpen={changesOpen}
          onToggleChanges={phone ? undefined : () => onChangesOpen(!changesOpen)}
          onShowList={onShowList}
          onChanged={refresh}
          onDelete={onDelete}
          onFind={() => onFindOpen(!findOpen)}
        />
        {session.model === DEMO_MODEL && (
          <p className="text-muted border-line border-b px-4 py-1 text-[12.5px]">{words.demoBanner}</p>
        )}
        <StoppedLine sessionId={session.id} status={view.status ?? session.status} readOnly={readOnly} />
        <ConnectionLine connection={connection} onRetry={retryNow} />
        {findOpen && (
          <FindBar
            rows={view.rows}
            query={query}
            onQuery={setQuery}
            onFound={(key) => {
              setFound(key);
              if (key !== undefined) conversation.current?.showRow(key);
            }}
            onClose={() => {
              setFound(undefined);
              setQuery('');
              onFindOpen(false);
            }}
          />
        )}
        {phone && (
          <div role="tablist" className="border-line flex border-b px-2">
            {(['conversation', 'changes'] as const).map((name) => (
              <button
                key={name}
                type="button"
                role="tab"
                aria-selected={tab === name}
                className="text-muted aria-selected:border-accent aria-selected:text-text border-b-2 border-transparent px-3 py-2"
                onClick={() => onChangesOpen(name === 'changes')}
              >
                {words.tabs[name]}
                {name === 'changes' && changes.length > 0 && ` ${changes.length}`}
              </button>
            ))}
          </div>
        )}
        {tab === 'changes' ? (
          <ChangesPane
            changes={changes}
            runs={runs}
            whole={whole}
            onOpenAll={(open) => {
              onChangesOpen(false);
              setOpenAll(open);
            }}
            onJump={(key) => {
              onChangesOpen(false);
              setJump(key);
            }}
          />
        ) : (
          <>
            <Conversation
              ref={conversation}
              sessionId={session.id}
              rows={view.rows}
              firstIdx={log.firstIdx}
              owner={session.owner}
              caughtUp={caughtUp}
              found={found}
              query={findOpen ? query : ''}
            />
            <div className="mx-auto flex w-full max-w-[calc(76ch+32px)] shrink-0 flex-col gap-2 px-4 pt-1 pb-2 max-md:px-2">
              <ErrorBoundary>
                <QuestionDock
                  sessionId={session.id}
                  owner={session.owner}
                  awake={(view.status ?? session.status) === 'active'}
                  readOnly={readOnly}
                  cards={view.cards}
                  openCards={view.openCards}
                  onReplyInWords={() => field.current?.focus()}
                />
              </ErrorBoundary>
              {readOnly ? (
                <p className="text-muted py-1 text-[12.5px]">{words.readOnly}</p>
              ) : (
                <Composer
                  sessionId={session.id}
                  running={running}
                  waiting={waiting}
                  queue={queue}
                  onSent={() => conversation.current?.toEnd()}
                  field={field}
                />
              )}
            </div>
          </>
        )}
      </main>
      {!phone && changesOpen && (
        <div className="border-line flex w-[clamp(320px,30vw,480px)] shrink-0 flex-col border-l">
          <ChangesPane
            changes={changes}
            runs={runs}
            whole={whole}
            onJump={(key) => conversation.current?.showRow(key)}
            onOpenAll={(open) => conversation.current?.openChanges(open)}
          />
        </div>
      )}
    </div>
  );
}
