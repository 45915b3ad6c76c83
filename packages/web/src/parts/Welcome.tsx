// The main area while no session is open, and the banner that tells a newcomer what is missing.

import { useRef, useState } from 'react';
import { api, reasonOf, untilStored } from '../api-client.js';
import type { ServerStatus, Session } from '../api-types.js';
import { newId } from '../new-id.js';
import { words } from '../strings.js';
import { DEMO_MODEL } from './SessionList.js';

interface BannerProps {
  readonly status: ServerStatus;
  readonly onCreated: (session: Session) => void;
}

export function CredentialsBanner({ status, onCreated }: BannerProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | undefined>();
  const key = useRef(newId());
  if (status.credentials !== 'none') return null;

  async function tryDemo() {
    setBusy(true);
    setError(undefined);
    const body = {
      title: words.noCredentials.demoTitle,
      model: DEMO_MODEL,
      workspace: { kind: 'empty' },
      prompt: words.noCredentials.demoPrompt,
    } as const;
    try {
      const session = await untilStored(() => api.createSession(body, key.current));
      key.current = newId();
      onCreated(session);
    } catch (cause) {
      setError(reasonOf(cause));
    } finally {
      setBusy(false);
    }
  }

  return (
    <section
      aria-label={words.noCredentials.title}
      className="bg-waiting-soft border-line flex flex-wrap items-center gap-x-4 gap-y-1 border-b px-4 py-2"
    >
      <p className="min-w-0 grow basis-[48ch]">
        <strong className="font-semibold">{words.noCredentials.title}</strong> {words.noCredentials.text}
      </p>
      {status.demo && (
        <button
          type="button"
          className="btn"
          title={words.noCredentials.demoNote}
          disabled={busy}
          onClick={() => void tryDemo()}
        >
          {words.noCredentials.tryDemo}
        </button>
      )}
      {error !== undefined && (
        <p role="alert" className="text-danger basis-full">
          {error}
        </p>
      )}
    </section>
  );
}

interface EmptyMainProps {
  readonly hasSessions: boolean;
  readonly waiting: number;
  readonly onWaiting: () => void;
  readonly onNew: () => void;
}

/** Says what to do next; what waits for a person comes first. */
export function EmptyMain({ hasSessions, waiting, onWaiting, onNew }: EmptyMainProps) {
  return (
    <main className="flex grow flex-col items-center justify-center gap-3 p-8 text-center">
      {waiting > 0 ? (
        <p className="text-waiting font-semibold">{words.emptyWaiting(waiting)}</p>
      ) : (
        <p className="text-muted max-w-[48ch]">{hasSessions ? words.emptyMain : words.emptyList}</p>
      )}
      <span className="flex gap-2">
        {waiting > 0 && (
          <button type="button" className="btn border-waiting-mark! text-waiting! font-semibold" onClick={onWaiting}>
            {words.answerFirst}
            <kbd aria-hidden className="text-[11.5px] max-md:hidden">
              g w
            </kbd>
          </button>
        )}
        <button type="button" className="btn" onClick={onNew}>
          {words.newSession}
        </button>
      </span>
    </main>
  );
}
