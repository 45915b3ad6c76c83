// `/?token=…`: exchanged once for a cookie, then a redirect to the same place without it, so that
// the code is in no history, no referrer and no log.

import type { FastifyInstance } from 'fastify';
import type { Door } from './door.js';
import { pathOf } from './http-edge.js';
import { identify } from './identity.js';
import { LINK_USED_PAGE, TRY_AGAIN_PAGE } from './plain-page.js';
import { isUnavailable } from './to-problem.js';
import { isAppPath, sendPage } from './web-app.js';

/** The same path and query without `token`; never another host. */
export function withoutToken(url: string): string {
  const path = `/${pathOf(url).replace(/^[/\\]+/, '')}`;
  const query = new URLSearchParams(url.slice(pathOf(url).length).replace(/^\?/, '').replace(/#.*$/, ''));
  query.delete('token');
  const rest = query.toString();
  return rest === '' ? path : `${path}?${rest}`;
}

function tokenOf(url: string): string | undefined {
  const query = url.slice(pathOf(url).length);
  return new URLSearchParams(query.replace(/^\?/, '')).get('token') ?? undefined;
}

export function exchangeLoginLinks(app: FastifyInstance, door: Door, publicUrl: string | undefined): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'GET' || !isAppPath(pathOf(request.url))) return;
    const code = tokenOf(request.url);
    if (code === undefined) return;
    const purpose = request.headers['sec-purpose'] ?? request.headers.purpose;
    if (purpose !== undefined) {
      // A browser that looks ahead must not use the link up.
      return reply.code(204).header('cache-control', 'no-store').send();
    }
    try {
      const cookie = await door.login.exchange(code);
      // Whoever is signed in already loses nothing by opening an old link again.
      const known = cookie !== undefined || (await isSignedIn());
      if (!known) return sendPage(reply, 410, LINK_USED_PAGE);
      if (cookie !== undefined) reply.header('set-cookie', cookie);
      return reply
        .code(303)
        .headers({ location: withoutToken(request.url), 'cache-control': 'no-store' })
        .send();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      door.log.warn({ err: error }, 'login link not exchanged: unavailable');
      return sendPage(reply.header('retry-after', '5'), 503, TRY_AGAIN_PAGE);
    }

    async function isSignedIn(): Promise<boolean> {
      const cookie = { name: door.login.cookieName, publicUrl };
      const { caller } = await identify(request.raw, door.desk, cookie).catch(() => ({ caller: undefined }));
      return caller !== undefined;
    }
  });
}
