// Says when the link to the server is gone and counts down to the next attempt. Silent while all is well.

import { useEffect, useState } from 'react';
import type { ConnectionState } from '../events-client.js';
import { words } from '../strings.js';

interface Props {
  readonly connection: ConnectionState;
  readonly onRetry: () => void;
}

export function ConnectionLine({ connection, onRetry }: Props) {
  const [now, setNow] = useState(() => Date.now());
  const lost = connection.status === 'lost';
  useEffect(() => {
    if (!lost) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [lost]);
  if (connection.status !== 'lost') return null;
  const seconds = Math.max(0, Math.ceil((connection.retryAt - now) / 1000));
  return (
    <p
      role="status"
      className="bg-waiting-soft text-waiting border-line flex flex-wrap items-center gap-x-3 border-b px-4 py-1 text-[12.5px]"
    >
      {words.connection.lost(seconds)}
      <button type="button" className="underline" onClick={onRetry}>
        {words.connection.retryNow}
      </button>
    </p>
  );
}
