// The rows of a session, windowed. It stays at the end while the end is in view; once a person has
// scrolled up nothing moves under them, and a button tells of what came below.

import { type Ref, useCallback, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'react';
import { VList, type VListHandle } from 'virtua';
import type { Row } from '../conversation-rows.js';
import { markWords } from '../mark-words.js';
import { words } from '../strings.js';
import { ConversationRow } from './ConversationRow.js';
import { ErrorBoundary } from './ErrorBoundary.js';

export interface ConversationHandle {
  /** Goes to the end and stays there: what was sent from here will appear there. */
  toEnd(): void;
  /** Brings the row into view, opened. */
  showRow(key: string): void;
  /** Opens or closes every diff. */
  openChanges(open: boolean): void;
}

interface Props {
  readonly sessionId: string;
  readonly rows: readonly Row[];
  /** Where the log that the rows are made of begins: when it moves, rows were put in front. */
  readonly firstIdx: number;
  readonly owner: string;
  readonly caughtUp: boolean;
  /** The row that a search is at. */
  readonly found: string | undefined;
  /** What is searched for: marked in every row that is drawn; '' = nothing. */
  readonly query: string;
  readonly ref: Ref<ConversationHandle>;
}

const NEAR_END_PX = 24;
const SETTLE_MS = 300;

function withoutCollapsed(rows: readonly Row[], toggled: ReadonlySet<string>): readonly Row[] {
  const collapsed = new Set<string>();
  for (const row of rows) if (row.kind === 'run' && toggled.has(row.key)) collapsed.add(row.runId);
  if (collapsed.size === 0) return rows;
  return rows.filter((row) => {
    if (row.kind !== 'tool' && row.kind !== 'message' && row.kind !== 'change' && row.kind !== 'thought') return true;
    return !collapsed.has(row.runId);
  });
}

export function Conversation({ sessionId, rows, firstIdx, owner, caughtUp, found, query, ref }: Props) {
  const list = useRef<VListHandle>(null);
  const box = useRef<HTMLDivElement>(null);
  const sticky = useRef(true);
  /** The row that was just gone to: until it has settled, or a person scrolls, the end does not pull. */
  const jump = useRef<string | undefined>(undefined);
  const letGo = () => {
    jump.current = undefined;
  };
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [newBelow, setNewBelow] = useState(false);
  const shown = withoutCollapsed(rows, toggled);
  const lastKey = shown.at(-1)?.key;
  const latest = useRef(shown);
  latest.current = shown;
  const drawnFrom = useRef(firstIdx);
  const inFront = firstIdx < drawnFrom.current;

  const toEnd = useCallback(() => {
    jump.current = undefined;
    sticky.current = true;
    setNewBelow(false);
    list.current?.scrollToIndex(Number.MAX_SAFE_INTEGER, { align: 'end' });
  }, []);

  const onScroll = useCallback(() => {
    const handle = list.current;
    if (handle === null) return;
    const atEnd = handle.scrollOffset + handle.viewportSize >= handle.scrollSize - NEAR_END_PX;
    sticky.current = atEnd && jump.current === undefined;
    if (sticky.current) setNewBelow(false);
  }, []);

  const onToggle = useCallback(
    (key: string) => {
      // What opens under the pointer must not scroll away; once it is laid out, the end is looked for again.
      sticky.current = false;
      setTimeout(onScroll, SETTLE_MS);
      setToggled((known) => {
        const next = new Set(known);
        if (!next.delete(key)) next.add(key);
        return next;
      });
    },
    [onScroll],
  );

  useLayoutEffect(() => {
    drawnFrom.current = firstIdx;
  }, [firstIdx]);

  useLayoutEffect(() => {
    if (sticky.current && shown.length > 0) list.current?.scrollToIndex(shown.length - 1, { align: 'end' });
  }, [shown]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: told by the last row alone
  useEffect(() => {
    if (!sticky.current) setNewBelow(true);
  }, [lastKey]);

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      if (sticky.current) list.current?.scrollToIndex(Number.MAX_SAFE_INTEGER, { align: 'end' });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => (box.current === null ? undefined : markWords(box.current, query)), [query]);

  useImperativeHandle(ref, () => ({
    toEnd,
    showRow(key) {
      const at = rows.findIndex((row) => row.key === key);
      const row = rows[at];
      if (row === undefined) return;
      sticky.current = false;
      setToggled((known) => {
        const next = new Set(known).add(key);
        const run = rows.findLast((r, i) => i < at && r.kind === 'run');
        if (run !== undefined) next.delete(run.key);
        return next;
      });
      jump.current = key;
      // Its place is known once its run is unfolded, and stays put once what was opened has its height.
      const go = () => {
        if (jump.current !== key) return;
        const place = latest.current.findIndex((known) => known.key === key);
        if (place >= 0) list.current?.scrollToIndex(place, { align: 'start' });
      };
      requestAnimationFrame(go);
      setTimeout(go, SETTLE_MS);
      setTimeout(() => {
        go();
        if (jump.current === key) jump.current = undefined;
      }, 3 * SETTLE_MS);
    },
    openChanges(open) {
      sticky.current = false;
      setToggled((known) => {
        const next = new Set(known);
        for (const row of rows) {
          if (row.kind !== 'change') continue;
          if (open) next.add(row.key);
          else next.delete(row.key);
        }
        return next;
      });
      setTimeout(onScroll, SETTLE_MS);
    },
  }));

  return (
    <div ref={box} className="relative min-h-0 grow">
      {shown.length === 0 && (
        <p className="text-muted absolute inset-x-0 mx-auto max-w-[calc(76ch+32px)] px-4 py-6 max-md:px-3">
          {caughtUp ? words.emptyConversation : words.loading}
        </p>
      )}
      <VList
        ref={list}
        className="scroll-y"
        role="log"
        aria-label={words.tabs.conversation}
        aria-live="off"
        tabIndex={0}
        onWheel={letGo}
        onTouchMove={letGo}
        onKeyDown={letGo}
        data={shown}
        shift={inFront}
        onScroll={onScroll}
        onResize={() => {
          if (sticky.current) list.current?.scrollToIndex(Number.MAX_SAFE_INTEGER, { align: 'end' });
        }}
      >
        {(row) => (
          <div
            key={row.key}
            data-row
            data-found={row.key === found || undefined}
            className="mx-auto w-full max-w-[calc(76ch+32px)] px-4 max-md:px-3"
          >
            <ErrorBoundary>
              <ConversationRow
                row={row}
                sessionId={sessionId}
                owner={owner}
                open={toggled.has(row.key)}
                onToggle={onToggle}
              />
            </ErrorBoundary>
          </div>
        )}
      </VList>
      {newBelow && (
        <button type="button" className="btn arrives absolute bottom-2 left-1/2 -translate-x-1/2" onClick={toEnd}>
          {words.newBelow} <span aria-hidden>↓</span>
        </button>
      )}
    </div>
  );
}
