// Agent text. The renderer is loaded when the first message is shown; until then, and should it
// fail, the text itself stands there.

import { lazy, memo, Suspense } from 'react';
import { ErrorBoundary } from './ErrorBoundary.js';

/** The renderer's own file; asked for early where messages are about to be shown. */
export const loadMarkdown = () => import('./MarkdownView.js');
const MarkdownView = lazy(() => loadMarkdown().then((module) => ({ default: module.MarkdownView })));

function PlainText({ text }: { readonly text: string }) {
  return <div className="md whitespace-pre-wrap">{text}</div>;
}

export const Markdown = memo(function Markdown({ text, live }: { readonly text: string; readonly live: boolean }) {
  const plain = <PlainText text={text} />;
  return (
    <ErrorBoundary fallback={plain}>
      <Suspense fallback={plain}>
        <MarkdownView text={text} live={live} />
      </Suspense>
    </ErrorBoundary>
  );
});
