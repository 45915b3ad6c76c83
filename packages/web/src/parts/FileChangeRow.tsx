// One file change: its path, what happened and its counts; opened, the diff. What was cut or
// estimated is said in words. A diff too big for comfort is drawn only when asked for.

import { lazy, Suspense, useMemo, useState } from 'react';
import type { ChangeRow } from '../conversation-rows.js';
import { byteSize } from '../format.js';
import { type PatchView, toCounts, toPatchView } from '../patch-text.js';
import { setPreferences, usePreferences } from '../preferences.js';
import { words } from '../strings.js';
import { toVisibleString } from '../visible-text.js';
import type { FileChange } from '../wire-types.js';
import { CopyButton } from './CopyButton.js';
import { Counts } from './Counts.js';
import { ErrorBoundary } from './ErrorBoundary.js';
import { PathText } from './PathText.js';
import { PlainDiff } from './PlainDiff.js';

const loadDiffView = () => import('./DiffView.js');
const DiffView = lazy(() => loadDiffView().then((module) => ({ default: module.DiffView })));

/** A hand that comes near a row is likely to open it. What fails here fails again, and is told, when it does. */
function comeNear(): void {
  loadDiffView().catch(() => undefined);
}

const MANY_LINES = 5_000;
const LONG_LINE = 20_000;

export function changeWord(change: FileChange): string {
  switch (change.type) {
    case 'write':
      return words.change.written;
    case 'edit':
      return words.change.edited;
    case 'patch':
      switch (change.kind) {
        case 'create':
          return words.change.created;
        case 'update':
          return words.change.edited;
        case 'overwrite':
          return words.change.overwritten;
      }
  }
}

function notesOf({ change, truncation }: ChangeRow, view: PatchView): readonly string[] {
  const notes: string[] = [];
  if (change.type === 'patch' && change.kind === 'overwrite' && change.deletions > 0) {
    notes.push(words.change.overwroteNote(change.deletions));
  }
  if (change.type === 'write') notes.push(words.change.writtenNote);
  if (change.type === 'patch' && change.approximate) notes.push(words.change.approximateNote);
  if (change.type !== 'write' && truncation !== undefined && truncation.dropped_hunks > 0) {
    notes.push(words.change.droppedHunks(truncation.dropped_hunks, truncation.dropped_hunks + change.hunks.length));
  }
  if (truncation !== undefined && truncation.dropped_bytes > 0) {
    notes.push(words.change.droppedBytes(byteSize(truncation.dropped_bytes)));
  }
  if (!view.hasLineNumbers) notes.push(words.change.noNumbers);
  if (view.lineEndings === 'mixed') notes.push(words.change.mixedEndings);
  if (view.lineEndings === 'crlf') notes.push(words.change.crlf);
  return notes;
}

function DiffTools({ path }: { readonly path: string }) {
  const { diffStyle, wrap } = usePreferences();
  return (
    <div className="flex flex-wrap items-center gap-1" role="group" aria-label={words.change.layout}>
      {(['unified', 'split'] as const).map((style) => (
        <button
          key={style}
          type="button"
          aria-pressed={diffStyle === style}
          className="btn btn-quiet aria-pressed:bg-hover min-h-6! px-1.5! text-[12px]"
          onClick={() => setPreferences({ diffStyle: style })}
        >
          {words.change[style]}
        </button>
      ))}
      <button
        type="button"
        aria-pressed={wrap}
        className="btn btn-quiet aria-pressed:bg-hover min-h-6! px-1.5! text-[12px]"
        onClick={() => setPreferences({ wrap: !wrap })}
      >
        {words.change.wrap}
      </button>
      <CopyButton text={path} label={words.copyPath} />
    </div>
  );
}

function ChangeBody({ row }: { readonly row: ChangeRow }) {
  const view = useMemo(() => toPatchView(row.path, row.change), [row.path, row.change]);
  const [insist, setInsist] = useState(false);
  const big = view.lineCount > MANY_LINES || view.longestLine > LONG_LINE;
  return (
    <div className="border-line border-t">
      <div className="flex flex-wrap items-center justify-between gap-x-4 px-2 py-0.5">
        <DiffTools path={row.path} />
        {view.hiddenCharacters > 0 && (
          <span className="chip border-waiting-mark! text-waiting!">
            ⚠ {words.change.hidden(view.hiddenCharacters)}
          </span>
        )}
      </div>
      {notesOf(row, view).map((note) => (
        <p key={note} className="text-muted px-2 pb-1 text-[12px]">
          {note}
        </p>
      ))}
      {view.patch === '' ? (
        <p className="text-muted px-2 pb-2">{words.change.empty}</p>
      ) : big && !insist ? (
        <p className="flex items-center gap-2 px-2 pb-2">
          {view.longestLine > LONG_LINE
            ? words.change.longLine
            : words.change.tooLong(`${view.lineCount.toLocaleString()} lines`)}
          <button type="button" className="btn" onClick={() => setInsist(true)}>
            {words.change.showAnyway}
          </button>
        </p>
      ) : (
        <ErrorBoundary fallback={<PlainDiff view={view} failed />}>
          <Suspense fallback={<PlainDiff view={view} failed={false} />}>
            <DiffView view={view} cacheKey={`${row.key}:${row.path}`} />
          </Suspense>
        </ErrorBoundary>
      )}
    </div>
  );
}

/** "src/import.ts edited +88 −12": the row in one breath. */
function labelOf({ path, change, truncation }: ChangeRow): string {
  const counts = toCounts(change);
  return [
    toVisibleString(path),
    changeWord(change),
    truncation === undefined ? '' : words.change.shortened,
    counts?.approximate === true ? words.change.approximate : '',
    counts !== undefined && counts.additions > 0 ? `+${counts.additions}` : '',
    counts !== undefined && counts.deletions > 0 ? `−${counts.deletions}` : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

interface Props {
  readonly row: ChangeRow;
  readonly open: boolean;
  readonly onToggle: () => void;
}

export function FileChangeRow({ row, open, onToggle }: Props) {
  const counts = toCounts(row.change);
  const dropped = row.truncation !== undefined;
  return (
    <div className="border-line bg-raised my-0.5 overflow-hidden rounded-[6px] border">
      <button
        type="button"
        data-diff-toggle
        aria-expanded={open}
        onClick={onToggle}
        onPointerEnter={comeNear}
        onFocus={comeNear}
        className="hover:bg-hover flex w-full min-w-0 items-center gap-2 px-2 py-1 text-left"
      >
        <span className="sr-only">{labelOf(row)}</span>
        <span aria-hidden className="flex min-w-0 grow items-center gap-2">
          <span className="text-muted w-2.5 shrink-0 text-[10px]">{open ? '▾' : '▸'}</span>
          <PathText path={row.path} />
          <span className="text-muted shrink-0 text-[12px]">{changeWord(row.change)}</span>
          <span className="grow" />
          {dropped && <span className="text-muted shrink-0 text-[12px]">{words.change.shortened}</span>}
          {counts !== undefined && <Counts {...counts} />}
        </span>
      </button>
      {open && <ChangeBody row={row} />}
    </div>
  );
}
