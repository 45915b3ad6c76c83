// What the session did to its files, from its log alone: net counts per file, or the single changes
// run by run; totals, and the way back to the moment of each change.

import { useMemo, useState } from 'react';
import { type ChangesOfRun, changesByRun } from '../changes-by-run.js';
import type { ChangeRow, RunRow } from '../conversation-rows.js';
import { buildFileTotals, type FileTotal, sumTotals } from '../net-changes.js';
import { toCounts } from '../patch-text.js';
import { words } from '../strings.js';
import { toVisibleString } from '../visible-text.js';
import { Counts } from './Counts.js';
import { changeWord } from './FileChangeRow.js';
import { PathText } from './PathText.js';

interface Props {
  readonly changes: readonly ChangeRow[];
  readonly runs: readonly RunRow[];
  /** False while a part of the log is not read yet. */
  readonly whole: boolean;
  readonly onJump: (key: string) => void;
  /** Opens or closes the diffs of all changes in the conversation. */
  readonly onOpenAll: (open: boolean) => void;
}

type View = 'byFile' | 'byRun';

export function ChangesPane({ changes, runs, whole, onJump, onOpenAll }: Props) {
  const [view, setView] = useState<View>('byFile');
  const files = useMemo(() => buildFileTotals(changes), [changes]);
  const total = sumTotals(files);
  return (
    <aside aria-label={words.changes.title} className="flex min-h-0 grow flex-col">
      <div className="border-line flex items-baseline gap-3 border-b px-3 py-2.5">
        <h2 className="font-semibold">{words.changes.files(files.length)}</h2>
        <Counts {...total} />
      </div>
      {files.length > 0 && (
        <div className="border-line flex flex-wrap items-center gap-1 border-b px-2 py-1">
          <div role="group" aria-label={words.changes.view} className="flex gap-1">
            {(['byFile', 'byRun'] as const).map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={view === name}
                className="btn btn-quiet aria-pressed:bg-hover min-h-6! px-1.5! text-[12px]"
                onClick={() => setView(name)}
              >
                {words.changes[name]}
              </button>
            ))}
          </div>
          <span className="grow" />
          <button type="button" className="btn btn-quiet min-h-6! px-1.5! text-[12px]" onClick={() => onOpenAll(true)}>
            {words.changes.openAll}
          </button>
          <button type="button" className="btn btn-quiet min-h-6! px-1.5! text-[12px]" onClick={() => onOpenAll(false)}>
            {words.changes.closeAll}
          </button>
        </div>
      )}
      <div className="scroll-y min-h-0 grow py-1">
        {files.length === 0 && (
          <p className="text-muted px-3 py-2">{whole ? words.changes.none : words.loadingEarlier}</p>
        )}
        {view === 'byFile' ? (
          <ul>
            {files.map((file) => (
              <FileItem key={file.path} file={file} onJump={onJump} />
            ))}
          </ul>
        ) : (
          changesByRun(changes, runs).map((group) => <RunGroup key={group.runId} group={group} onJump={onJump} />)
        )}
      </div>
      {files.length > 0 && view === 'byFile' && (
        <p className="text-muted border-line border-t px-3 py-1.5 text-[12px]">
          {whole ? words.changes.net : words.loadingEarlier}
        </p>
      )}
    </aside>
  );
}

const ITEM = 'hover:bg-hover flex w-full min-w-0 items-center gap-2 px-3 py-1 text-left max-md:py-2';

function FileItem({ file, onJump }: { readonly file: FileTotal; readonly onJump: (key: string) => void }) {
  return (
    <li>
      <button
        type="button"
        className={ITEM}
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
  );
}

function RunGroup({ group, onJump }: { readonly group: ChangesOfRun; readonly onJump: (key: string) => void }) {
  return (
    <section aria-label={words.run(group.number)}>
      <h3 className="text-muted flex items-baseline gap-2 px-3 pt-2 pb-0.5 text-[12px] font-semibold">
        {words.run(group.number)}
        <Counts {...sumTotals(group.files)} />
      </h3>
      <ul>
        {group.changes.map((row) => {
          const counts = toCounts(row.change);
          return (
            <li key={row.key}>
              <button type="button" className={ITEM} onClick={() => onJump(row.key)}>
                <span className="sr-only">{words.changes.jumpOne(toVisibleString(row.path))}</span>
                <PathText path={row.path} />
                <span className="grow" />
                <span className="text-muted text-[12px]">{changeWord(row.change)}</span>
                {counts !== undefined && <Counts {...counts} />}
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
