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

interface Props {
  readonly row: NoticeRow;
  readonly open: boolean;
  readonly onToggle: () => void;
}

export function NoticeLine({ row, open, onToggle }: Props) {
  const foldable = row.level === 'info' && row.message.length > LONG;
  return (
    <div
      className={`my-0.5 flex items-baseline gap-2 border-l-2 pl-3 text-[13px] ${TONES[row.level]}`}
      title={`${row.code} · ${exactTime(row.at)}`}
    >
      <p className={`min-w-0 grow ${foldable && !open ? 'truncate' : ''}`}>
        <span className="sr-only">{words.notice[row.level]}: </span>
        <VisibleText text={row.message} />
      </p>
      {foldable && (
        <button type="button" aria-expanded={open} className="shrink-0 underline" onClick={onToggle}>
          {open ? words.showLess : words.showAll}
        </button>
      )}
    </div>
  );
}
