// Deleting a session: it leaves the list at once and the server a few seconds later, so that it can
// be taken back. Leaving the page carries out what was not taken back.

import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, api, reasonOf, untilStored } from './api-client.js';
import type { Session } from './api-types.js';

export const UNDO_MS = 8_000;

export interface UndoableDelete {
  /** Not deleted yet: can be taken back. */
  readonly pending: Session | undefined;
  /** Gone for this page, whether the server knows already or not. */
  readonly hidden: ReadonlySet<string>;
  readonly error: string | undefined;
  remove(session: Session): void;
  undo(): void;
}

export function useUndoableDelete(onDeleted: () => void): UndoableDelete {
  const [pending, setPending] = useState<Session | undefined>();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [error, setError] = useState<string | undefined>();
  const due = useRef<{ session: Session; timer: number } | undefined>(undefined);

  const show = useCallback((id: string) => {
    setHidden((known) => {
      const next = new Set(known);
      next.delete(id);
      return next;
    });
  }, []);

  const carryOut = useCallback(() => {
    if (due.current === undefined) return;
    const { session, timer } = due.current;
    clearTimeout(timer);
    due.current = undefined;
    setPending(undefined);
    untilStored(() => api.deleteSession(session.id)).then(onDeleted, (cause: unknown) => {
      if (cause instanceof ApiError && cause.status === 404) return onDeleted();
      show(session.id);
      setError(reasonOf(cause));
    });
  }, [onDeleted, show]);

  useEffect(() => {
    addEventListener('pagehide', carryOut);
    return () => removeEventListener('pagehide', carryOut);
  }, [carryOut]);

  return {
    pending,
    hidden,
    error,
    remove(session) {
      carryOut();
      setError(undefined);
      setPending(session);
      setHidden((known) => new Set(known).add(session.id));
      due.current = { session, timer: window.setTimeout(carryOut, UNDO_MS) };
    },
    undo() {
      if (due.current === undefined) return;
      clearTimeout(due.current.timer);
      show(due.current.session.id);
      due.current = undefined;
      setPending(undefined);
    },
  };
}
