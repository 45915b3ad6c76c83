// The page's addresses: `/` and `/sessions/<id>`, with `#question` for a card. A router of its own
// would be a third of the bundle for these two.

import { useSyncExternalStore } from 'react';

export type Route = { readonly name: 'home' } | { readonly name: 'session'; readonly id: string };

export function parseRoute(pathname: string): Route {
  const match = /^\/sessions\/([^/]+)\/?$/.exec(pathname);
  if (match?.[1] === undefined) return { name: 'home' };
  try {
    return { name: 'session', id: decodeURIComponent(match[1]) };
  } catch {
    return { name: 'home' };
  }
}

export function toPath(route: Route): string {
  return route.name === 'home' ? '/' : `/sessions/${encodeURIComponent(route.id)}`;
}

const listeners = new Set<() => void>();

export function navigate(route: Route, hash = ''): void {
  const path = toPath(route) + hash;
  if (path !== location.pathname + location.hash) history.pushState(null, '', path);
  for (const listener of listeners) listener();
}

/** Tells of every move within the page, also to the place where it is already. */
export function onNavigate(listener: () => void): () => void {
  return subscribe(listener);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener('popstate', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('popstate', listener);
  };
}

export function useRoute(): Route {
  const pathname = useSyncExternalStore(subscribe, () => location.pathname);
  return parseRoute(pathname);
}
