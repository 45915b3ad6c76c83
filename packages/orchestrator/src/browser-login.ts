// How a browser becomes somebody: a one-time link, exchanged once for an HttpOnly cookie. The link's
// code and the cookie's secret are random; the database sees their hashes alone.

import { randomBytes } from 'node:crypto';
import type { Actor, SessionDesk } from '@engram/coordinator';
import { sha256 } from './identity.js';

export const LOGIN_LINK_MS = 10 * 60_000;
const BROWSER_SESSION_MS = 30 * 24 * 3600_000;

type LoginDesk = Pick<SessionDesk, 'putLoginCode' | 'takeLoginCode' | 'putBrowserSession'>;

export interface LoginLink {
  readonly url: string;
  readonly expires_at: string;
}

export interface BrowserLogin {
  readonly cookieName: string;
  issueLink(owner: Actor): Promise<LoginLink>;
  /** The Set-Cookie value, once per link; undefined when it was used or is too old. */
  exchange(code: string): Promise<string | undefined>;
  endSession(secretSha256: Uint8Array, owner: Actor): Promise<void>;
  /** Set-Cookie value that removes the cookie. */
  readonly clearCookie: string;
}

/** A fresh one-time link to the web app at `baseUrl`. */
export async function createLoginLink(
  desk: Pick<SessionDesk, 'putLoginCode'>,
  owner: Actor,
  baseUrl: string,
): Promise<LoginLink> {
  const code = randomBytes(32).toString('base64url');
  await desk.putLoginCode(sha256(code), owner, LOGIN_LINK_MS);
  return {
    url: `${baseUrl.replace(/\/+$/, '')}/?token=${code}`,
    expires_at: new Date(Date.now() + LOGIN_LINK_MS).toISOString(),
  };
}

/** Cookies are shared by all ports of a host, so the name tells the servers of one machine apart. */
export function cookieNameFor(baseUrl: string): string {
  const { port } = new URL(baseUrl);
  return port === '' ? 'engram_session' : `engram_session_${port}`;
}

export function createBrowserLogin(desk: LoginDesk, baseUrl: string): BrowserLogin {
  const cookieName = cookieNameFor(baseUrl);
  const attributes = `Path=/; HttpOnly; SameSite=Lax${baseUrl.startsWith('https:') ? '; Secure' : ''}`;
  return {
    cookieName,
    issueLink: (owner) => createLoginLink(desk, owner, baseUrl),
    async exchange(code) {
      if (!/^[\w-]{20,128}$/.test(code)) return undefined;
      const owner = await desk.takeLoginCode(sha256(code));
      if (owner === undefined) return undefined;
      const secret = randomBytes(32).toString('base64url');
      await desk.putBrowserSession(sha256(secret), owner, BROWSER_SESSION_MS);
      return `${cookieName}=${secret}; ${attributes}; Max-Age=${BROWSER_SESSION_MS / 1000}`;
    },
    // Written over with one that has ended: the desk knows no deletion.
    endSession: (secretSha256, owner) => desk.putBrowserSession(secretSha256, owner, 0),
    clearCookie: `${cookieName}=; ${attributes}; Max-Age=0`,
  };
}
