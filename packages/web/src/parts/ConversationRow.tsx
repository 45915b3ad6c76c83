// One row of the conversation, by its kind.

import { assertNever } from '../assert-never.js';
import type { Row, RunRow } from '../conversation-rows.js';
import { byteSize, compactNumber, dollars, duration, exactTime } from '../format.js';
import { isOpen } from '../question-cards.js';
import { words } from '../strings.js';
import { Attachments } from './Attachments.js';
import { ClosedQuestion, nameOfActor } from './ClosedQuestion.js';
import { FileChangeRow } from './FileChangeRow.js';
import { Markdown } from './Markdown.js';
import { NoticeLine } from './NoticeLine.js';
import { ThoughtLine } from './ThoughtLine.js';
import { TimeAgo } from './Time.js';
import { ToolCard } from './ToolCard.js';
import { VisibleText } from './VisibleText.js';

export interface RowProps {
  readonly row: Row;
  readonly sessionId: string;
  readonly owner: string;
  readonly open: boolean;
  readonly onToggle: (key: string) => void;
}

export function ConversationRow({ row, sessionId, owner, open, onToggle }: RowProps) {
  switch (row.kind) {
    case 'prompt':
      return (
        <article aria-label={nameOfActor(row.by, owner) ?? words.you} className="pt-4 pb-1">
          <div className="flex items-baseline gap-2">
            <span className="font-semibold">{nameOfActor(row.by, owner) ?? words.you}</span>
            <TimeAgo at={row.at} />
            {row.pending !== undefined && (
              <span role="status" className="text-muted text-[12px]">
                {row.pending === 'stuck' ? words.composer.waitsForStart : words.composer.waitsForAgent}
              </span>
            )}
          </div>
          <div className="[overflow-wrap:anywhere] whitespace-pre-wrap" dir="auto">
            <VisibleText text={row.text} />
          </div>
          {row.attachments.length > 0 && (
            <Attachments sessionId={sessionId} label={words.files.attached} attachments={row.attachments} />
          )}
        </article>
      );
    case 'run':
      return <RunHeading row={row} collapsed={open} onToggle={() => onToggle(row.key)} />;
    case 'message':
      return (
        <article className="pb-1.5" data-live={row.live || undefined}>
          {row.role !== 'assistant' && <span className="text-muted text-[12px]">{words.roles[row.role]}</span>}
          <Markdown text={row.text} live={row.live} />
          {row.cutBytes > 0 && (
            <p className="text-muted text-[12px]">{words.truncatedMessage(byteSize(row.cutBytes))}</p>
          )}
        </article>
      );
    case 'thought':
      return <ThoughtLine row={row} open={open} onToggle={() => onToggle(row.key)} />;
    case 'tool':
      return <ToolCard row={row} sessionId={sessionId} open={open} onToggle={() => onToggle(row.key)} />;
    case 'change':
      return <FileChangeRow row={row} open={open} onToggle={() => onToggle(row.key)} />;
    case 'question':
      // While it can be answered the card itself stands below, above the composer.
      if (isOpen(row.card) && row.card.state.status !== 'sent') return null;
      return <ClosedQuestion card={row.card} owner={owner} />;
    case 'earlier':
      return (
        <p role="status" className="text-muted py-2 text-center text-[12px]">
          {words.loadingEarlier}
        </p>
      );
    case 'notice':
      return <NoticeLine row={row} open={open} onToggle={() => onToggle(row.key)} />;
    case 'unrecognised':
      return (
        <details className="text-muted my-0.5 text-[13px]">
          <summary>{words.unrecognised(row.name)}</summary>
          <p>
            {words.unrecognisedHint}{' '}
            <button type="button" className="underline" onClick={() => location.reload()}>
              {words.reload}
            </button>
          </p>
          <pre className="scroll-y bg-code max-h-60 rounded px-2 py-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
            <VisibleText text={row.fields} />
          </pre>
        </details>
      );
    default:
      return assertNever(row);
  }
}

function RunHeading({ row, collapsed, onToggle }: { row: RunRow; collapsed: boolean; onToggle: () => void }) {
  const took = row.endedAt === undefined ? undefined : Date.parse(row.endedAt) - Date.parse(row.startedAt);
  const facts = [
    row.tools > 0 ? words.tools(row.tools) : '',
    row.failedTools > 0 ? words.failedTools(row.failedTools) : '',
    took !== undefined && took >= 1_000 ? duration(took) : '',
    row.outputTokens === undefined ? '' : words.outputTokens(compactNumber(row.outputTokens)),
    row.costMicroUsd === undefined ? '' : dollars(row.costMicroUsd),
    words.runState[row.state],
  ].filter((fact) => fact !== '');
  return (
    <button
      type="button"
      aria-expanded={!collapsed}
      onClick={onToggle}
      className="text-muted hover:text-text mt-2 mb-0.5 flex items-baseline gap-2 rounded text-[12px]"
      title={exactTime(row.startedAt)}
    >
      <span aria-hidden className="w-3 text-center text-[10px]">
        {collapsed ? '▸' : '▾'}
      </span>
      <span>
        {[words.run(row.number), row.continuesAnswer ? words.afterAnswer : '', ...facts].filter(Boolean).join(' · ')}
      </span>
    </button>
  );
}
