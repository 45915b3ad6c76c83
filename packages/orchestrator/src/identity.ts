// Who is calling: a bearer token, or the cookie of a browser session when the request comes from
// our own pages. Only SHA-256 values ever go to the desk. A token that is given and wrong is never
// made good by a cookie.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { SessionDesk } from '@engram/coordinator';
import type { Caller } from './policy.js';
import { Problem } from './problem.js';
import { isDirectLoopback, mayUseCookie } from './request-origin.js';

export interface Identity {
  readonly caller: Caller | undefined;
  readonly browserSecret: Uint8Array | undefined;
}

export const NOBODY: Identity = { caller: undefined, browserSecret: undefined };

export function sha256(text: string): Uint8Array {
  return createHash('sha256').update(text, 'utf8').digest();
}

/** The token of `Authorization: Bearer …`; undefined without the header. Throws `unauthenticated`. */
export function bearerToken(values: readonly string[] | undefined): string | undefined {
  if (values === undefined || values.length === 0) return undefined;
  if (values.length > 1) {
    throw new Problem('unauthenticated', { detail: 'The Authorization header was sent more than once.' });
  }
  const token = /^Bearer +([\x21-\x7e]{1,1024}) *$/i.exec(values[0] ?? '')?.[1];
  if (token === undefined) {
    throw new Problem('unauthenticated', { detail: 'Use "Authorization: Bearer <token>".' });
  }
  return token;
}

/** One cookie's value; undefined when it is absent or ambiguous. */
export function cookieValue(header: string | undefined, name: string): string | undefined {
  const values = new Set<string>();
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === name) values.add(part.slice(at + 1).trim());
  }
  const [only] = values;
  return values.size === 1 && only !== undefined && /^[\w-]{20,128}$/.test(only) ? only : undefined;
}

export async function identify(
  request: IncomingMessage,
  desk: Pick<SessionDesk, 'findTokenOwner' | 'findBrowserSession'>,
  cookie: { readonly name: string; readonly publicUrl: string | undefined },
): Promise<Identity> {
  const token = bearerToken(request.headersDistinct.authorization);
  if (token !== undefined) {
    const actor = await desk.findTokenOwner(sha256(token));
    if (actor === undefined) throw new Problem('unauthenticated', { detail: 'This token is not known here.' });
    return { caller: { actor, via: 'token' }, browserSecret: undefined };
  }
  const secret = cookieValue(request.headers.cookie, cookie.name);
  if (secret === undefined) return NOBODY;
  const site = request.headers['sec-fetch-site'];
  const origin = {
    host: request.headers.host,
    origin: request.headers.origin,
    secFetchSite: typeof site === 'string' ? site : undefined,
  };
  if (!mayUseCookie(request.method ?? '', origin, cookie.publicUrl)) {
    throw new Problem('unauthenticated', {
      detail: "A browser's session counts only for requests from Engram's own pages.",
    });
  }
  const browserSecret = sha256(secret);
  const actor = await desk.findBrowserSession(browserSecret);
  return actor === undefined ? NOBODY : { caller: { actor, via: 'cookie' }, browserSecret };
}

/** The machine itself, or the holder of the metrics token. */
export function isOperator(request: IncomingMessage, metricsToken: string | undefined): boolean {
  const given = request.headersDistinct.authorization;
  if (given !== undefined && metricsToken !== undefined) {
    const token = bearerToken(given);
    return token !== undefined && timingSafeEqual(sha256(token), sha256(metricsToken));
  }
  return isDirectLoopback(request.socket.remoteAddress, request.headers);
}
