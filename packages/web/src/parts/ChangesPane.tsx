// What the session did to its files, from its log alone: net counts per file, totals, and the way
// back to the moment of each change.

import { useMemo } from 'react';
import type { ChangeRow } from '../conversation-rows.js';
import { buildFileTotals, sumTotals } from '../net-changes.js';
import { words } from '../strings.js';
import { toVisibleString } from '../visible-text.js';
import { Counts } from './Counts.js';
import { PathText } from './PathText.js';

interface Props {
  readonly changes: readonly ChangeRow[];
  readonly onJump: (key: string) => void;
}

export function ChangesPane({ changes, onJump }: Props) {
  const files = useMemo(() => buildFileTotals(changes), [changes]);
  const total = sumTotals(files);
  return (
    <aside aria-label={words.changes.title} className="flex min-h-0 grow flex-col">
      <div className="border-line flex items-baseline gap-3 border-b px-3 py-2.5">
        <h2 className="font-semibold">{words.changes.files(files.length)}</h2>
        <Counts {...total} />
      </div>
      <div className="scroll-y min-h-0 grow py-1">
        {files.length === 0 && <p className="text-muted px-3 py-2">{words.changes.none}</p>}
        <ul>
          {files.map((file) => (
            <li key={file.path}>
              <button
                type="button"
                className="hover:bg-hover flex w-full min-w-0 items-center gap-2 px-3 py-1 text-left"
                title={words.changes.times(file.changes.length)}
                onClick={() => {
                  const last = file.changes.at(-1);
                  if (last !== undefined) onJump(last.key);
                }}
              >
                <span className="sr-only">{words.changes.jump(toVisibleString(file.path))}</span>
                <PathText path={file.path} />
                <span className="grow" />
                {file.created && <span className="text-muted text-[12px]">{words.change.created}</span>}
                {file.partlyUnknown && (
                  <span className="text-muted text-[12px] whitespace-nowrap">{words.changes.uncounted}</span>
                )}
                <Counts {...file} />
              </button>
            </li>
          ))}
        </ul>
      </div>
      {files.length > 0 && (
        <p className="text-muted border-line border-t px-3 py-1.5 text-[12px]">{words.changes.net}</p>
      )}
    </aside>
  );
}
