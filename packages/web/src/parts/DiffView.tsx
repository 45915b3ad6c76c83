// The only file that knows the diff library; loaded when the first diff is opened. Patch text in,
// a virtualised view out; highlighting happens in workers, and a diff too big for comfort asks first.

import { processFile } from '@pierre/diffs';
import { FileDiff, Virtualizer, WorkerPoolContextProvider } from '@pierre/diffs/react';
import DiffWorker from '@pierre/diffs/worker/worker.js?worker';
import { useMemo, useState } from 'react';
import type { PatchView } from '../patch-text.js';
import { useColorScheme, usePreferences } from '../preferences.js';
import { PlainDiff } from './PlainDiff.js';

const MAX_WORD_DIFF_LINE = 400;
const MAX_HIGHLIGHT_LINE = 1_000;
/** Of the themes at hand, the pair whose colours stay readable on the added and removed lines too. */
const theme = { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } as const;

/** Lines scroll sideways only, so no room is kept for a bar at their side: the colours reach the edge. */
const FULL_WIDTH = '[data-code] { scrollbar-gutter: auto; }';

const pool = { workerFactory: () => new DiffWorker(), poolSize: 1, totalASTLRUCacheSize: 50 };
const highlighter = {
  theme,
  preferredHighlighter: 'highlights',
  lineDiffType: 'word',
  maxLineDiffLength: MAX_WORD_DIFF_LINE,
  tokenizeMaxLineLength: MAX_HIGHLIGHT_LINE,
} as const;

interface Props {
  readonly view: PatchView;
  readonly cacheKey: string;
}

export function DiffView({ view, cacheKey }: Props) {
  const { diffStyle, wrap } = usePreferences();
  const scheme = useColorScheme();
  /** Until the viewer has its colours it draws nothing; the plain lines stand in. */
  const [drawn, setDrawn] = useState(false);
  const fileDiff = useMemo(
    () => processFile(view.patch, { cacheKey, isGitDiff: false, throwOnError: true }),
    [view.patch, cacheKey],
  );
  const options = useMemo(
    () =>
      ({
        theme,
        themeType: scheme,
        preferredHighlighter: 'highlights',
        diffStyle,
        overflow: wrap ? 'wrap' : 'scroll',
        diffIndicators: 'classic',
        disableFileHeader: true,
        disableLineNumbers: !view.hasLineNumbers,
        hunkSeparators: 'simple',
        lineDiffType: 'word',
        maxLineDiffLength: MAX_WORD_DIFF_LINE,
        tokenizeMaxLineLength: MAX_HIGHLIGHT_LINE,
        disableErrorHandling: true,
        unsafeCSS: FULL_WIDTH,
        onPostRender: () => setDrawn(true),
      }) as const,
    [scheme, diffStyle, wrap, view.hasLineNumbers],
  );
  if (fileDiff === undefined) throw new Error('the stored change is not a patch');
  return (
    <>
      {!drawn && <PlainDiff view={view} failed={false} />}
      <WorkerPoolContextProvider poolOptions={pool} highlighterOptions={highlighter}>
        <Virtualizer className="diff scroll-y max-h-[70vh] overflow-x-hidden">
          <FileDiff fileDiff={fileDiff} options={options} />
        </Virtualizer>
      </WorkerPoolContextProvider>
    </>
  );
}
