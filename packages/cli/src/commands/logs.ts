// `engram logs [-f] <session>`: what happened, from the start or from an event on.

import type { ApiClient } from '../api-client.js';
import type { Output } from '../output.js';
import { createEventPrinter } from '../show-event.js';

export async function logs(
  api: ApiClient,
  output: Output,
  sessionId: string,
  options: { readonly follow: boolean; readonly since: number },
): Promise<number> {
  const show = createEventPrinter(sessionId, output);
  if (options.follow) {
    for await (const event of api.stream(sessionId, { since: options.since })) {
      if (event.type !== 'agent_message_chunk') show(event);
    }
    return 0;
  }
  let since = options.since;
  for (;;) {
    const page = await api.events(sessionId, since);
    for (const event of page.events) show(event);
    if (page.events.length === 0) return 0;
    since = page.next_since;
  }
}
