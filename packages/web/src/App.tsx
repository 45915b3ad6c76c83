// The page as a whole: which session is open, the list beside it (a sheet on a phone), dialogs,
// title and badge.

import { useEffect, useState } from 'react';
import type { Session } from './api-types.js';
import { Dialog } from './parts/Dialog.js';
import { ErrorBoundary } from './parts/ErrorBoundary.js';
import { GoToDialog } from './parts/GoToDialog.js';
import { HelpDialog } from './parts/HelpDialog.js';
import { LoginPage } from './parts/LoginPage.js';
import { NewSessionDialog } from './parts/NewSessionDialog.js';
import { SessionList } from './parts/SessionList.js';
import { SessionView } from './parts/SessionView.js';
import { SideFooter } from './parts/SideFooter.js';
import { UndoBar } from './parts/UndoBar.js';
import { VersionLine } from './parts/VersionLine.js';
import { CredentialsBanner, EmptyMain } from './parts/Welcome.js';
import { navigate, useRoute } from './route.js';
import { countWaiting, groupSessions, isWaiting, pageTitle } from './session-groups.js';
import { words } from './strings.js';
import { isUnread, loadSeen, saveSeen, updateSeen } from './unread-marks.js';
import { useAppKeys } from './use-app-keys.js';
import { isUnauthenticated, useIsPhone, useRefreshSessions, useServerStatus, useSessions } from './use-server.js';
import { useUndoableDelete } from './use-undoable-delete.js';

const IS_APPLE = /Mac|iP(hone|ad)/.test(navigator.userAgent);

type OpenDialog = 'none' | 'new' | 'goTo' | 'help' | 'list';

function openSession(session: Session): void {
  navigate({ name: 'session', id: session.id }, isWaiting(session) ? '#question' : '');
}

function useTitleAndBadge(waiting: number, title: string | undefined): void {
  useEffect(() => {
    document.title = pageTitle(waiting, title);
    const icon = document.querySelector('link[rel="icon"]');
    icon?.setAttribute('href', waiting > 0 ? '/favicon-waiting.svg' : '/favicon.svg');
  }, [waiting, title]);
}

export function App() {
  const route = useRoute();
  const phone = useIsPhone();
  const { data, error, isFetched } = useSessions();
  const { data: status } = useServerStatus();
  const refresh = useRefreshSessions();
  const [dialog, setDialog] = useState<OpenDialog>('none');
  const [changesOpen, setChangesOpen] = useState(false);
  const [findOpen, setFindOpen] = useState(false);
  const [seen, setSeen] = useState(loadSeen);
  const [keptDone, setKeptDone] = useState<string | undefined>();
  const deletion = useUndoableDelete(refresh);
  /** Made a moment ago and not in the list yet. */
  const [created, setCreated] = useState<Session | undefined>();

  const listed = data ?? [];
  const isListed = created !== undefined && listed.some((session) => session.id === created.id);
  useEffect(() => {
    if (isListed) setCreated(undefined);
  }, [isListed]);
  const fresh = created === undefined || isListed ? [] : [created];
  const sessions = [...fresh, ...listed].filter((session) => !deletion.hidden.has(session.id));
  // A row stays where it was found for as long as its session is open: walking the list skips none.
  const isDone = (session: Session) => isUnread(session, seen) || session.id === keptDone;
  const ordered = groupSessions(sessions, isDone).flatMap((group) => group.sessions);
  const openId = route.name === 'session' ? route.id : undefined;
  const open = sessions.find((session) => session.id === openId);
  useTitleAndBadge(countWaiting(sessions), open?.title);

  useEffect(() => {
    if (data === undefined) return;
    // Other tabs of this browser show sessions too: what they saw counts.
    const before = loadSeen();
    const opened = data.find((session) => session.id === openId);
    const isNews = opened !== undefined && isUnread(opened, before);
    setKeptDone((kept) => (isNews || kept === openId ? openId : undefined));
    const next = updateSeen(before, data, document.hidden ? undefined : openId);
    saveSeen(next);
    setSeen(next);
  }, [data, openId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another session is searched anew
  useEffect(() => setFindOpen(false), [openId]);

  function step(by: 1 | -1) {
    const at = ordered.findIndex((session) => session.id === openId);
    const next = at === -1 ? ordered[0] : ordered[Math.min(ordered.length - 1, Math.max(0, at + by))];
    if (next !== undefined) navigate({ name: 'session', id: next.id });
  }
  function nextWaiting() {
    const waiting = ordered.filter(isWaiting);
    const at = waiting.findIndex((session) => session.id === openId);
    const next = waiting[(at + 1) % waiting.length];
    if (next !== undefined) openSession(next);
  }
  useAppKeys({
    goTo: () => setDialog('goTo'),
    help: () => setDialog('help'),
    newSession: () => setDialog('new'),
    next: () => step(1),
    previous: () => step(-1),
    nextWaiting,
    writeMessage: () => document.querySelector<HTMLTextAreaElement>('form textarea')?.focus(),
    toggleChanges: () => setChangesOpen((now) => !now),
    find: () => setFindOpen(true),
  });

  if (isUnauthenticated(error)) return <LoginPage />;

  function onCreated(session: Session) {
    setCreated(session);
    setDialog('none');
    refresh();
    navigate({ name: 'session', id: session.id });
  }

  const list = (
    <>
      <div className="flex items-center justify-between gap-2 px-3 py-2">
        <h1 className="font-semibold">{words.appName}</h1>
        <span className="flex gap-1">
          <button type="button" className="btn btn-quiet px-1.5!" onClick={() => setDialog('goTo')}>
            <span className="md:sr-only">{words.goTo.title}</span>
            <kbd aria-hidden className="text-muted text-[11.5px] max-md:hidden">
              {IS_APPLE ? '⌘K' : 'Ctrl K'}
            </kbd>
          </button>
          <button type="button" className="btn" onClick={() => setDialog('new')}>
            <span aria-hidden>+</span>
            {words.newSession}
          </button>
        </span>
      </div>
      {error !== null && (
        <p role="status" className="bg-waiting-soft text-waiting px-3 py-1 text-[12.5px]">
          {words.connection.listFailed}
        </p>
      )}
      <SessionList
        sessions={sessions}
        loaded={isFetched}
        selectedId={openId}
        isUnread={(session) => isUnread(session, seen)}
        isDone={isDone}
        onOpened={() => setDialog((now) => (now === 'list' ? 'none' : now))}
      />
      <UndoBar deletion={deletion} />
      <SideFooter status={status} onHelp={() => setDialog('help')} />
    </>
  );
  const listBeside = !phone || route.name === 'home';
  // On a phone's first page the list is what the page is about.
  const ListPlace = phone ? 'main' : 'header';

  return (
    <div className="flex h-dvh flex-col">
      {status !== undefined && listBeside && <CredentialsBanner status={status} onCreated={onCreated} />}
      {status !== undefined && <VersionLine status={status} />}
      <div className="flex min-h-0 grow">
        {listBeside && (
          <ListPlace className="border-line flex w-[280px] shrink-0 flex-col border-r max-md:w-full max-md:border-r-0">
            {list}
          </ListPlace>
        )}
        {route.name === 'home' ? (
          !phone && (
            <EmptyMain
              hasSessions={sessions.length > 0}
              waiting={countWaiting(sessions)}
              onWaiting={nextWaiting}
              onNew={() => setDialog('new')}
            />
          )
        ) : open === undefined ? (
          <main className="text-muted p-6">
            <p>{isFetched ? words.sessionGone : words.loading}</p>
            {isFetched && (
              <button type="button" className="btn mt-3" onClick={() => navigate({ name: 'home' })}>
                {words.backToSessions}
              </button>
            )}
          </main>
        ) : (
          <ErrorBoundary key={open.id}>
            <SessionView
              session={open}
              readOnly={status !== undefined && status.you.id !== open.owner}
              changesOpen={changesOpen}
              onChangesOpen={setChangesOpen}
              findOpen={findOpen}
              onFindOpen={setFindOpen}
              onDelete={() => {
                deletion.remove(open);
                navigate({ name: 'home' });
              }}
              onShowList={phone ? () => setDialog('list') : undefined}
            />
          </ErrorBoundary>
        )}
      </div>
      {dialog === 'list' && (
        <Dialog title={words.sessions} onClose={() => setDialog('none')} className="w-full">
          <div className="-mx-4 -my-3 flex min-h-[60dvh] flex-col">{list}</div>
        </Dialog>
      )}
      {dialog === 'new' && (
        <NewSessionDialog
          sessions={sessions}
          defaultPath={status?.default_workspace}
          onClose={() => setDialog('none')}
          onCreated={onCreated}
        />
      )}
      {dialog === 'goTo' && (
        <GoToDialog
          sessions={sessions}
          isDone={isDone}
          onClose={() => setDialog('none')}
          onGo={(session) => {
            setDialog('none');
            openSession(session);
          }}
        />
      )}
      {dialog === 'help' && <HelpDialog onClose={() => setDialog('none')} />}
    </div>
  );
}
