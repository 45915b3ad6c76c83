// What a session did to its files, all edits together, from the log alone. Each file is followed as
// a list of pieces: runs of lines it had before, and runs of lines that were added since. A later
// edit that removes lines added earlier therefore leaves no trace, as in a diff of before and after.
// Where the log does not hold enough (dropped hunks, no line numbers), the counts of the single
// changes are summed and marked approximate. Pure.

import type { ChangeRow } from './conversation-rows.js';
import { toCounts } from './patch-text.js';
import type { PatchHunk } from './wire-types.js';

export interface FileTotal {
  readonly path: string;
  readonly additions: number;
  readonly deletions: number;
  readonly approximate: boolean;
  /** Some change to this file is of unknown size: its old content was never seen. */
  readonly partlyUnknown: boolean;
  readonly created: boolean;
  readonly changes: readonly ChangeRow[];
}

interface Piece {
  readonly added: boolean;
  readonly lines: number;
}

interface Track {
  pieces: readonly Piece[];
  removedOriginal: number;
}

/** Splits so that `at` is a boundary; gives the pieces before and after it. */
function splitAt(pieces: readonly Piece[], at: number): [Piece[], Piece[]] {
  const before: Piece[] = [];
  const after: Piece[] = [];
  let left = at;
  for (const piece of pieces) {
    const taken = Math.min(left, piece.lines);
    if (taken > 0) before.push({ ...piece, lines: taken });
    if (piece.lines > taken) after.push({ ...piece, lines: piece.lines - taken });
    left -= taken;
  }
  return [before, after];
}

function applyHunk(track: Track, hunk: PatchHunk): void {
  // In the file as it is while hunks are applied from the top, a hunk begins at its new_start.
  let at = Math.max(0, hunk.new_start - 1);
  for (const { sign, count } of runsOf(hunk.lines)) {
    if (sign === '+') {
      const [before, after] = splitAt(track.pieces, at);
      track.pieces = mergePieces([...before, { added: true, lines: count }, ...after]);
      at += count;
    } else if (sign === '-') {
      const [before, after] = splitAt(track.pieces, at);
      const [gone, rest] = splitAt(after, count);
      for (const piece of gone) if (!piece.added) track.removedOriginal += piece.lines;
      track.pieces = mergePieces([...before, ...rest]);
    } else at += count;
  }
}

/** Neighbouring lines of one sign, counted. */
function runsOf(lines: readonly string[]): readonly { sign: string; count: number }[] {
  const runs: { sign: string; count: number }[] = [];
  for (const line of lines) {
    const sign = line[0] ?? ' ';
    if (sign === '\\') continue;
    const last = runs.at(-1);
    if (last?.sign === sign) last.count += 1;
    else runs.push({ sign, count: 1 });
  }
  return runs;
}

function mergePieces(pieces: readonly Piece[]): Piece[] {
  const merged: Piece[] = [];
  for (const piece of pieces) {
    const last = merged.at(-1);
    if (last !== undefined && last.added === piece.added) {
      merged[merged.length - 1] = { added: last.added, lines: last.lines + piece.lines };
    } else merged.push(piece);
  }
  return merged;
}

/** Net lines of one file, or undefined when the changes do not say enough. */
function netOf(changes: readonly ChangeRow[]): { additions: number; deletions: number } | undefined {
  const track: Track = { pieces: [{ added: false, lines: Number.POSITIVE_INFINITY }], removedOriginal: 0 };
  let lines = 0;
  for (const { change, truncation } of changes) {
    if (change.type !== 'patch' || change.approximate) return undefined;
    if ((truncation?.dropped_hunks ?? 0) > 0 || (truncation?.dropped_bytes ?? 0) > 0) return undefined;
    for (const hunk of change.hunks) lines += hunk.lines.length;
    if (lines > 20_000) return undefined;
    for (const hunk of change.hunks) applyHunk(track, hunk);
  }
  const additions = track.pieces.reduce((sum, piece) => (piece.added ? sum + piece.lines : sum), 0);
  return { additions, deletions: track.removedOriginal };
}

function totalOf(path: string, changes: readonly ChangeRow[]): FileTotal {
  const first = changes[0]?.change;
  const created = first?.type === 'patch' && first.kind === 'create';
  const partlyUnknown = changes.some(({ change }) => change.type === 'write');
  const net = netOf(changes);
  if (net !== undefined) return { path, ...net, approximate: false, partlyUnknown, created, changes };
  let additions = 0;
  let deletions = 0;
  for (const { change } of changes) {
    const counts = toCounts(change);
    additions += counts?.additions ?? 0;
    deletions += counts?.deletions ?? 0;
  }
  const firstCounts = first === undefined ? undefined : toCounts(first);
  const approximate = changes.length > 1 || firstCounts?.approximate === true;
  return { path, additions, deletions, approximate, partlyUnknown, created, changes };
}

/** One entry per file, in order of its first change. */
export function buildFileTotals(rows: readonly ChangeRow[]): readonly FileTotal[] {
  const byPath = new Map<string, ChangeRow[]>();
  for (const row of rows) {
    const list = byPath.get(row.path);
    if (list === undefined) byPath.set(row.path, [row]);
    else list.push(row);
  }
  return [...byPath].map(([path, changes]) => totalOf(path, changes));
}

export function sumTotals(files: readonly FileTotal[]): { additions: number; deletions: number; approximate: boolean } {
  return {
    additions: files.reduce((sum, file) => sum + file.additions, 0),
    deletions: files.reduce((sum, file) => sum + file.deletions, 0),
    approximate: files.some((file) => file.approximate || file.partlyUnknown),
  };
}
