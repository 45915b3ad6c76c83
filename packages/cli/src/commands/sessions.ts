// `engram sessions`: newest activity first, waiting ones marked.

import type { Session } from '@engram/coordinator';
import type { ApiClient } from '../api-client.js';
import type { Output } from '../output.js';
import { safeLine } from '../terminal-text.js';

export async function sessions(
  api: ApiClient,
  output: Output,
  options: { readonly awaiting: boolean; readonly limit: string },
): Promise<number> {
  const page = await api.listSessions({ limit: options.limit, ...(options.awaiting ? { awaiting: 'true' } : {}) });
  if (output.json) {
    output.result(page, []);
    return 0;
  }
  const lines = page.sessions.map(
    (session) => `${session.id}  ${stateOf(session).padEnd(9)} ${safeLine(session.title, 80)}`,
  );
  output.result(page, lines.length > 0 ? lines : ['no sessions yet']);
  return 0;
}

function stateOf(session: Session): string {
  if (session.awaiting.length > 0) return 'waiting';
  return session.running ? 'running' : session.status;
}
