// Something a person should know that is neither a message nor a tool call. A long note of the quiet
// kind takes one line until it is asked for; warnings and errors are always shown whole.

import type { NoticeRow } from '../conversation-rows.js';
import { exactTime } from '../format.js';
import { words } from '../strings.js';
import { VisibleText } from './VisibleText.js';

const LONG = 120;
const TONES = {
  info: 'border-line text-muted',
  warning: 'border-waiting-mark text-waiting',
  error: 'border-danger text-danger',
} as const;

/** Notices name commands between backticks. */
function WithCommands({ text }: { readonly text: string }) {
  const parts = text.split('`');
  // An odd backtick is one that the text means.
  if (parts.length % 2 === 0) return <VisibleText text={text} />;
  return parts.map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never move
      <code key={at} className="bg-code text-text rounded px-1">
        <VisibleText text={part} />
      </code>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never move
      <VisibleText key={at} text={part} />
    ),
  );
}

interface Props {
  readonly row: NoticeRow;
  readonly open: boolean;
  readonly onToggle: () => void;
}

export function NoticeLine({ row, open, onToggle }: Props) {
  const foldable = row.level === 'info' && row.message.length > LONG;
  return (
    <div
      className={`my-1 flex items-baseline gap-2 border-l-2 pl-3 text-[13px] ${TONES[row.level]}`}
      title={`${row.code} · ${exactTime(row.at)}`}
    >
      <p className={`min-w-0 grow ${foldable && !open ? 'truncate' : ''}`}>
        <span className="sr-only">{words.notice[row.level]}: </span>
        <WithCommands text={row.message} />
      </p>
      {foldable && (
        <button type="button" aria-expanded={open} className="shrink-0 underline" onClick={onToggle}>
          {open ? words.showLess : words.showAll}
        </button>
      )}
    </div>
  );
}
