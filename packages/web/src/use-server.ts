// What the page asks the server for again and again: the session list and the server's own state.

import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { ApiError, api } from './api-client.js';

const LIST_EVERY_MS = 2_000;
const LIST_HIDDEN_MS = 10_000;

/** Asks for the list before anything can show it. */
export function prefetchSessions(client: QueryClient): void {
  void client.prefetchQuery({ queryKey: ['sessions'], queryFn: api.listSessions, retry: false });
}

export function useSessions() {
  return useQuery({
    queryKey: ['sessions'],
    queryFn: api.listSessions,
    refetchInterval: () => (document.hidden ? LIST_HIDDEN_MS : LIST_EVERY_MS),
    refetchIntervalInBackground: true,
    retry: false,
  });
}

export function useServerStatus() {
  return useQuery({ queryKey: ['status'], queryFn: api.status, refetchInterval: 30_000, retry: false });
}

/** Asks for the list now: something happened that it must show. */
export function useRefreshSessions(): () => void {
  const client = useQueryClient();
  return useCallback(() => void client.invalidateQueries({ queryKey: ['sessions'] }), [client]);
}

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

function subscribeMinute(listener: () => void): () => void {
  const timer = setInterval(listener, 15_000);
  return () => clearInterval(timer);
}

/** The time, moving in steps of 15 s: enough for "3m", cheap enough for every row. */
export function useNow(): number {
  return useSyncExternalStore(subscribeMinute, () => Math.floor(Date.now() / 15_000) * 15_000);
}

const PHONE = '(max-width: 767px)';
function subscribePhone(listener: () => void): () => void {
  const query = matchMedia(PHONE);
  query.addEventListener('change', listener);
  return () => query.removeEventListener('change', listener);
}
export function useIsPhone(): boolean {
  return useSyncExternalStore(subscribePhone, () => matchMedia(PHONE).matches);
}
