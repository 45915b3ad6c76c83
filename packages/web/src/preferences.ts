// What a person chose about the look, kept in the browser: theme and diff layout.

import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark' | 'contrast';

export interface Preferences {
  readonly theme: Theme;
  readonly diffStyle: 'unified' | 'split';
  readonly wrap: boolean;
}

const KEY = 'engram.preferences';
const DEFAULTS: Preferences = { theme: 'system', diffStyle: 'unified', wrap: false };
export const THEMES = ['system', 'light', 'dark', 'contrast'] as const;

export function parsePreferences(text: string | null): Preferences {
  try {
    const value: unknown = JSON.parse(text ?? '');
    if (typeof value !== 'object' || value === null) return DEFAULTS;
    const theme = 'theme' in value ? THEMES.find((known) => known === value.theme) : undefined;
    return {
      theme: theme ?? DEFAULTS.theme,
      diffStyle: 'diffStyle' in value && value.diffStyle === 'split' ? 'split' : 'unified',
      wrap: 'wrap' in value && value.wrap === true,
    };
  } catch {
    return DEFAULTS;
  }
}

let current: Preferences = DEFAULTS;
const listeners = new Set<() => void>();

function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Once, before the first render, so that the page never flashes in the other theme. */
export function loadPreferences(): void {
  current = parsePreferences(localStorage.getItem(KEY));
  applyTheme(current.theme);
}

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  localStorage.setItem(KEY, JSON.stringify(current));
  applyTheme(current.theme);
  for (const listener of listeners) listener();
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

function subscribeDark(listener: () => void): () => void {
  const query = matchMedia('(prefers-color-scheme: dark)');
  query.addEventListener('change', listener);
  return () => query.removeEventListener('change', listener);
}

/** The scheme that is really shown, for parts that bring colours of their own. */
export function useColorScheme(): 'light' | 'dark' {
  const { theme } = usePreferences();
  const dark = useSyncExternalStore(subscribeDark, () => matchMedia('(prefers-color-scheme: dark)').matches);
  if (theme === 'system') return dark ? 'dark' : 'light';
  return theme === 'dark' ? 'dark' : 'light';
}
