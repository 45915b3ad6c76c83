// The keyboard of the open question: 1–9 choose, o opens the free text, Enter answers. Off while a
// text field has the focus or a dialog is open; Enter on a button stays that button's.

import { type RefObject, useEffect, useRef } from 'react';
import { chooseOption, type DraftPart, toggleOther } from './answer-draft.js';
import type { Question } from './wire-types.js';

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== 'radio' && target.type !== 'checkbox';
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

export function isDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null;
}

interface CardKeys {
  readonly question: Question | undefined;
  readonly part: DraftPart | undefined;
  readonly onPart: (part: DraftPart) => void;
  readonly onSubmit: () => void;
}

export function useCardKeys(on: boolean, section: RefObject<HTMLElement | null>, keys: CardKeys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    if (!on) return;
    function onKey(event: KeyboardEvent) {
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || isDialogOpen()) return;
      const { question, part, onPart, onSubmit } = latest.current;
      if (question === undefined || part === undefined) return;
      const { target } = event;
      if (event.key === 'Enter') {
        const elsewhere =
          target instanceof HTMLElement && target !== document.body && !section.current?.contains(target);
        const own = target instanceof HTMLElement && target.closest('button, a, summary') !== null;
        if (elsewhere || own) return;
        event.preventDefault();
        onSubmit();
        return;
      }
      if (event.key === 'o') {
        event.preventDefault();
        onPart(toggleOther(part, question, question.multi_select ? !part.otherOn : true));
        return;
      }
      const option = /^[1-9]$/.test(event.key) ? question.options[Number(event.key) - 1] : undefined;
      if (option === undefined) return;
      event.preventDefault();
      // The focus follows the choice, so that the next Enter is the card's and not that of what was clicked before.
      section.current?.querySelectorAll('input')[Number(event.key) - 1]?.focus();
      onPart(chooseOption(part, question, option.label));
    }
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [on, section]);
}
