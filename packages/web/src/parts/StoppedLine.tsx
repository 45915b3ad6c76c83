// A session that cannot go on by itself: what that means, and the one thing to do about it.

import { useState } from 'react';
import { api, reasonOf, untilStored } from '../api-client.js';
import type { SessionStatus } from '../api-types.js';
import { words } from '../strings.js';

interface Props {
  readonly sessionId: string;
  readonly status: SessionStatus;
  readonly readOnly: boolean;
}

export function StoppedLine({ sessionId, status, readOnly }: Props) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | undefined>();
  if (status !== 'failed' && status !== 'host_lost') return null;

  async function startAgain() {
    setBusy(true);
    setError(undefined);
    try {
      await untilStored(() => api.wake(sessionId));
    } catch (cause) {
      setError(reasonOf(cause));
    } finally {
      setBusy(false);
    }
  }

  return (
    <p className="bg-danger-soft border-line flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-1.5 text-[13px]">
      <span className="min-w-0">{status === 'failed' ? words.header.failedText : words.header.hostLostText}</span>
      {status === 'failed' && !readOnly && (
        <button type="button" className="btn" disabled={busy} onClick={() => void startAgain()}>
          {words.header.startAgain}
        </button>
      )}
      {error !== undefined && (
        <span role="alert" className="text-danger">
          {error}
        </span>
      )}
    </p>
  );
}
