// One tool call: a line with what it was called with; opened, its arguments and its result.

import type { ToolRow } from '../conversation-rows.js';
import { byteSize, duration } from '../format.js';
import { words } from '../strings.js';
import { formatArgs, toolName, toolTitle } from '../tool-title.js';
import { Attachments } from './Attachments.js';
import { VisibleText } from './VisibleText.js';

interface Props {
  readonly row: ToolRow;
  readonly sessionId: string;
  readonly open: boolean;
  readonly onToggle: () => void;
}

function Block({ title, text, cutBytes }: { title: string; text: string; cutBytes: number }) {
  return (
    <div className="min-w-0">
      <div className="text-muted text-[12px]">{title}</div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long block is scrolled by keyboard
        tabIndex={0}
        className="scroll-y bg-code max-h-80 overflow-x-auto rounded px-2 py-1 whitespace-pre-wrap [overflow-wrap:anywhere]"
      >
        <VisibleText text={text} />
      </pre>
      {cutBytes > 0 && <p className="text-muted text-[12px]">{words.cutBytes(byteSize(cutBytes))}</p>}
    </div>
  );
}

export function ToolCard({ row, sessionId, open, onToggle }: Props) {
  const failed = row.state === 'error';
  const title = toolTitle(row.args);
  // A result of pictures alone says nothing in words that they do not.
  const pictured = row.images.length > 0 && /^(\[image\]\s*)*$/.test(row.result ?? '');
  const result = pictured ? (
    <div className="text-muted text-[12px]">{words.toolResult}</div>
  ) : row.result !== undefined && row.result !== '' ? (
    <Block title={failed ? words.toolError : words.toolResult} text={row.result} cutBytes={row.resultCutBytes} />
  ) : (
    row.state !== 'running' && <p className="text-muted text-[12px]">{words.noResult}</p>
  );
  return (
    <div className={row.ofSubagent ? 'border-line ml-3 border-l pl-2' : undefined}>
      <button
        type="button"
        aria-expanded={open}
        onClick={onToggle}
        className="hover:bg-hover flex w-full min-w-0 items-baseline gap-2 rounded px-1 py-0.5 text-left"
      >
        <span aria-hidden className="text-muted w-3 shrink-0 text-center text-[10px]">
          {open ? '▾' : '▸'}
        </span>
        <span className="shrink-0 font-semibold">
          <VisibleText text={toolName(row.name)} />
        </span>
        <span className="text-muted min-w-0 grow truncate font-mono text-[12.5px]">
          <VisibleText text={title} />
        </span>
        {row.images.length > 0 && <span className="chip shrink-0">{words.files.images(row.images.length)}</span>}
        {row.ofSubagent && <span className="chip shrink-0">{words.subagent}</span>}
        {row.state !== 'ok' && (
          <span className={`shrink-0 text-[12px] ${failed ? 'text-danger font-semibold' : 'text-muted'}`}>
            {failed && <span aria-hidden>✕ </span>}
            {words.toolState[row.state]}
          </span>
        )}
        {row.durationMs !== undefined && row.durationMs >= 1_000 && (
          <span className="text-muted shrink-0 text-[12px]">{duration(row.durationMs)}</span>
        )}
      </button>
      {open && (
        <div className="border-line my-1 ml-[6px] flex flex-col gap-2 border-l pl-3">
          {/* What went wrong is read first. */}
          {failed && result}
          {row.args === undefined || row.args === '' ? (
            <p className="text-muted text-[12px]">{words.noArguments}</p>
          ) : (
            <Block title={words.toolArguments} text={formatArgs(row.args)} cutBytes={row.argsCutBytes} />
          )}
          {!failed && result}
          {row.images.length > 0 && (
            <Attachments sessionId={sessionId} label={words.files.results} attachments={row.images} />
          )}
        </div>
      )}
    </div>
  );
}
