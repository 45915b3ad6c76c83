// The diff as plain lines: while the viewer loads, and when it cannot be used.

import type { PatchView } from '../patch-text.js';
import { words } from '../strings.js';

const SHOWN_LINES = 2_000;
/** More than a screen, and gone a moment later: drawing them all would hold the viewer up. */
const SHOWN_MEANWHILE = 120;

function toneOf(line: string): string {
  if (line.startsWith('@@')) return 'text-muted';
  if (line.startsWith('+')) return 'text-added';
  if (line.startsWith('-')) return 'text-removed';
  return '';
}

export function PlainDiff({ view, failed }: { readonly view: PatchView; readonly failed: boolean }) {
  // The two file header lines say nothing that the row does not.
  const lines = view.patch.split('\n').slice(2, 2 + (failed ? SHOWN_LINES : SHOWN_MEANWHILE));
  return (
    <div>
      {failed && <p className="text-muted px-2 pb-1 text-[12px]">{words.change.plainNote}</p>}
      <pre className="scroll-y max-h-[70vh] overflow-x-auto px-2 pb-2">
        {lines.map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one stored diff never move
          <div key={at} className={toneOf(line)}>
            {view.hasLineNumbers || !line.startsWith('@@') ? line || ' ' : '⋯'}
          </div>
        ))}
      </pre>
    </div>
  );
}
