// A modal dialog on the browser's own element: focus stays inside, Escape closes, the page behind is
// inert. Rendered only while open.

import { type ReactNode, useEffect, useId, useRef } from 'react';
import { words } from '../strings.js';
import { Icon } from './Icon.js';

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly className?: string;
}

export function Dialog({ title, onClose, children, className = 'w-[520px]' }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog === null || dialog.open) return;
    const before = document.activeElement;
    dialog.showModal();
    dialog.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape is the dialog's own key for the same
    <dialog
      ref={ref}
      aria-labelledby={id}
      className={`sheet arrives m-auto ${className}`}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div className="flex max-h-[calc(100dvh-26px)] flex-col">
        <header className="border-line flex items-center justify-between border-b px-4 py-2">
          <h2 id={id} className="font-semibold">
            {title}
          </h2>
          <button type="button" className="btn btn-quiet" aria-label={words.close} onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        <div className="scroll-y min-h-0 px-4 py-3">{children}</div>
      </div>
    </dialog>
  );
}
