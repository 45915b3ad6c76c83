// A client that does not give up: it sends the same body again until the server has said yes or no.
// Answers 2xx and 4xx end it; silence, 429 and 5xx do not.

import { pause } from './stage.mjs';

const TRY_MS = 10_000;

export function createClient(stage) {
  async function once(method, path, body, headers) {
    const response = await fetch(`${stage.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${stage.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TRY_MS),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  return {
    /** `{status, body, tries}`; status 0 when nothing was heard within `patienceMs`. */
    async send(method, path, body, { headers = {}, patienceMs = 120_000 } = {}) {
      const until = Date.now() + patienceMs;
      for (let tries = 1; ; tries += 1) {
        try {
          const reply = await once(method, path, body, headers);
          if (reply.status < 500 && reply.status !== 429) return { ...reply, tries };
        } catch {
          // Down, or cut off in mid-reply: whether it was stored is not known, so the same goes out again.
        }
        if (Date.now() > until) return { status: 0, body: undefined, tries };
        await pause(150);
      }
    },
    /** One try; undefined when it failed. */
    async look(path) {
      const reply = await once('GET', path).catch(() => undefined);
      return reply?.status === 200 ? reply.body : undefined;
    },
  };
}
