// The keys that work everywhere on the page. Single keys are off while something is being typed or
// a dialog is open; ⌘K is not.

import { useEffect, useRef } from 'react';
import { isDialogOpen, isTyping } from './use-card-keys.js';

export interface AppKeys {
  readonly goTo: () => void;
  readonly help: () => void;
  readonly newSession: () => void;
  readonly next: () => void;
  readonly previous: () => void;
  readonly nextWaiting: () => void;
  readonly writeMessage: () => void;
  readonly toggleChanges: () => void;
  readonly find: () => void;
}

const PREFIX_MS = 1_000;

/** The diff under the focus, else the last one on the page. */
function toggleDiff(): void {
  const { activeElement } = document;
  const near = activeElement?.matches('[data-diff-toggle]') ? activeElement : undefined;
  const all = document.querySelectorAll('[data-diff-toggle]');
  const target = near ?? all[all.length - 1];
  if (target instanceof HTMLElement) target.click();
}

export function useAppKeys(keys: AppKeys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let prefixAt = 0;
    function onKey(event: KeyboardEvent) {
      if (event.defaultPrevented) return;
      const now = latest.current;
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        if (!isDialogOpen()) now.goTo();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || isDialogOpen()) return;
      const afterG = event.timeStamp - prefixAt < PREFIX_MS;
      prefixAt = 0;
      if (afterG && event.key === 'w') now.nextWaiting();
      else if (event.key === 'g') prefixAt = event.timeStamp;
      else if (event.key === 'j') now.next();
      else if (event.key === 'k') now.previous();
      else if (event.key === 'n') now.newSession();
      else if (event.key === 'm') now.writeMessage();
      else if (event.key === 'c') now.toggleChanges();
      else if (event.key === 'e') toggleDiff();
      else if (event.key === '/') now.find();
      else if (event.key === '?') now.help();
      else return;
      event.preventDefault();
    }
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
