// What the agent thought: one quiet line with its beginning; opened, the whole.

import type { ThoughtRow } from '../conversation-rows.js';
import { byteSize } from '../format.js';
import { words } from '../strings.js';
import { Markdown } from './Markdown.js';
import { VisibleText } from './VisibleText.js';

interface Props {
  readonly row: ThoughtRow;
  readonly open: boolean;
  readonly onToggle: () => void;
}

const SHOWN_LENGTH = 200;

export function ThoughtLine({ row, open, onToggle }: Props) {
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        onClick={onToggle}
        className="hover:bg-hover text-muted flex w-full min-w-0 items-baseline gap-2 rounded px-1 py-0.5 text-left"
      >
        <span aria-hidden className="w-3 shrink-0 text-center text-[10px]">
          {open ? '▾' : '▸'}
        </span>
        <span className="shrink-0">{words.thought}</span>
        {!open && (
          <span className="min-w-0 grow truncate text-[12.5px]">
            <VisibleText text={row.text.slice(0, SHOWN_LENGTH).replace(/\s+/g, ' ')} />
          </span>
        )}
      </button>
      {open && (
        <div className="border-line text-muted my-1 ml-[6px] border-l pl-3">
          <Markdown text={row.text} live={false} />
          {row.cutBytes > 0 && <p className="text-[12px]">{words.truncatedMessage(byteSize(row.cutBytes))}</p>}
        </div>
      )}
    </div>
  );
}
