// Search in the open session: hits are rows; Enter goes to the next, with Shift to the one before.

import { useMemo, useState } from 'react';
import type { Row } from '../conversation-rows.js';
import { searchRows } from '../search-rows.js';
import { words } from '../strings.js';

interface Props {
  readonly rows: readonly Row[];
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly onFound: (key: string | undefined) => void;
  readonly onClose: () => void;
}

export function FindBar({ rows, query, onQuery, onFound, onClose }: Props) {
  /** The hit by key: rows that arrive later move nobody. */
  const [current, setCurrent] = useState<string | undefined>();
  const hits = useMemo(() => searchRows(rows, query), [rows, query]);
  const at = current === undefined ? -1 : hits.indexOf(current);

  function go(to: number) {
    const key = hits[(to + hits.length) % Math.max(1, hits.length)];
    setCurrent(key);
    onFound(key);
  }

  const count =
    query.trim() === ''
      ? ''
      : hits.length === 0
        ? words.find.none
        : at < 0
          ? words.find.hits(hits.length)
          : words.find.at(at + 1, hits.length);
  return (
    <search className="border-line flex flex-wrap items-center gap-2 border-b px-4 py-1.5 max-md:px-2">
      <input
        // biome-ignore lint/a11y/noAutofocus: the bar appears because a person asked to type here
        autoFocus
        type="search"
        className="field max-w-[40ch]! min-w-0 grow"
        aria-label={words.find.label}
        placeholder={words.find.label}
        value={query}
        onChange={(event) => {
          onQuery(event.target.value);
          setCurrent(undefined);
          onFound(undefined);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') go(at < 0 ? (event.shiftKey ? -1 : 0) : at + (event.shiftKey ? -1 : 1));
          else if (event.key === 'Escape') onClose();
          else return;
          event.preventDefault();
        }}
      />
      <span role="status" className="text-muted text-[12.5px]">
        {count}
      </span>
      <span className="grow" />
      <button
        type="button"
        className="btn btn-quiet"
        disabled={hits.length === 0}
        onClick={() => go(at < 0 ? -1 : at - 1)}
      >
        {words.find.previous}
      </button>
      <button type="button" className="btn btn-quiet" disabled={hits.length === 0} onClick={() => go(at + 1)}>
        {words.find.next}
      </button>
      <button type="button" className="btn btn-quiet" onClick={onClose}>
        {words.close}
      </button>
    </search>
  );
}
