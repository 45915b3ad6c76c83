// Pure checks of where a request comes from: the Host header (against DNS rebinding while bound to
// loopback), the origin of a browser's request (against cross-site requests), the peer's address.

import { isIP } from 'node:net';

export interface OriginHeaders {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
}

export function isLoopbackName(hostname: string): boolean {
  const name = hostname
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1');
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  const v4 = name.startsWith('::ffff:') ? name.slice(7) : name;
  return isIP(v4) === 4 && v4.startsWith('127.');
}

function parseHost(host: string): URL | undefined {
  if (!/^[A-Za-z0-9.:[\]_-]{1,255}$/.test(host)) return undefined;
  const url = URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`) : undefined;
  return url === undefined || url.hostname === '' ? undefined : url;
}

/** A server bound to loopback is called by a loopback name or by its public address, nothing else. */
export function isAcceptedHost(
  host: string | undefined,
  server: { readonly boundToLoopback: boolean; readonly publicUrl: string | undefined },
): boolean {
  const url = host === undefined ? undefined : parseHost(host);
  if (url === undefined) return false;
  if (!server.boundToLoopback || isLoopbackName(url.hostname)) return true;
  return server.publicUrl !== undefined && new URL(server.publicUrl).hostname === url.hostname;
}

function isOwnOrigin(headers: OriginHeaders, publicUrl: string | undefined): boolean {
  const { origin, host } = headers;
  if (origin === undefined || !URL.canParse(origin)) return false;
  const asked = new URL(origin);
  if (publicUrl !== undefined && new URL(publicUrl).origin === asked.origin) return true;
  // A proxy may have taken TLS off, so the scheme is not compared; name and port are.
  return host !== undefined && asked.host === host.toLowerCase();
}

/**
 * May a cookie count as identity here? What changes state must show that it comes from our own
 * pages; a read must not come visibly from elsewhere.
 */
export function mayUseCookie(method: string, headers: OriginHeaders, publicUrl: string | undefined): boolean {
  const { secFetchSite: site, origin } = headers;
  const isRead = method === 'GET' || method === 'HEAD';
  if (site !== undefined) return site === 'same-origin' || (isRead && site === 'none');
  if (isRead && origin === undefined) return true;
  return isOwnOrigin(headers, publicUrl);
}

/** A peer on this machine that does not speak for somebody else. */
export function isDirectLoopback(
  remoteAddress: string | undefined,
  headers: Readonly<Record<string, unknown>>,
): boolean {
  if (remoteAddress === undefined || !isLoopbackName(remoteAddress)) return false;
  return !['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => headers[name] !== undefined);
}
