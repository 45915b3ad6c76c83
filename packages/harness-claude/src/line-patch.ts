// Line hunks: made from a result's own patch, from two texts or from a new file, counted, and cut to
// what an event may carry. Counts always come from the whole patch, before anything is dropped.

import type { PatchHunk, Truncation } from '@engram/harness-proto';
import { structuredPatch } from 'diff';
import { asArray, asNumber, isRecord } from './json-guards.js';
import { cutText, EVENT_BUDGET_BYTES, INNER_STRING_BYTES } from './text-caps.js';

/** Beyond this many changed lines an exact diff takes seconds: the counts become an estimate. */
const MAX_EDIT_LENGTH = 2000;
const CONTEXT_LINES = 3;
const NO_NEWLINE = '\\ No newline at end of file';
/** Room a hunk and a line take beside their text. */
const HUNK_OVERHEAD_BYTES = 40;
const LINE_OVERHEAD_BYTES = 8;
/** A hunk of a patch that must be cut is split into pieces of this size, so that its start is kept. */
const PIECE_BYTES = 64 * 1024;

export interface LinePatch {
  readonly hunks: readonly PatchHunk[];
  readonly additions: number;
  readonly deletions: number;
  readonly approximate: boolean;
}

/** The result's own patch; undefined when it is none or has a shape we do not know. */
export function parseStructuredPatch(value: unknown): LinePatch | undefined {
  const hunks: PatchHunk[] = [];
  const rows = asArray(value);
  if (!rows) return undefined;
  for (const row of rows) {
    if (!isRecord(row)) return undefined;
    const oldStart = asNumber(row.oldStart);
    const newStart = asNumber(row.newStart);
    const lines = asArray(row.lines);
    if (oldStart === undefined || newStart === undefined || !lines) return undefined;
    if (!isLineNumber(oldStart) || !isLineNumber(newStart)) return undefined;
    const texts = lines.filter((line) => typeof line === 'string' && /^[ +\-\\]/.test(line));
    if (texts.length !== lines.length) return undefined;
    hunks.push(toHunk(oldStart, newStart, texts.map(String)));
  }
  return toPatch(hunks, false);
}

/** A file that was not there before. */
export function patchOfNewFile(content: string): LinePatch {
  const lines = splitLines(content).map((line) => `+${line}`);
  if (content !== '' && !content.endsWith('\n')) lines.push(NO_NEWLINE);
  return toPatch(lines.length === 0 ? [] : [toHunk(1, 1, lines)], false);
}

/** Old text → new text, in bounded time. */
export function patchOfTexts(before: string, after: string): LinePatch {
  if (before === after) return toPatch([], false);
  const exact = structuredPatch('', '', before, after, '', '', {
    context: CONTEXT_LINES,
    maxEditLength: MAX_EDIT_LENGTH,
  });
  if (!exact) return toPatch([changedRegion(before, after)], true);
  return toPatch(
    exact.hunks.map((hunk) => toHunk(hunk.oldStart, hunk.newStart, hunk.lines)),
    false,
  );
}

/** All between the common start and the common end, as one replacement. */
function changedRegion(before: string, after: string): PatchHunk {
  const oldLines = splitLines(before);
  const newLines = splitLines(after);
  const shorter = Math.min(oldLines.length, newLines.length);
  let head = 0;
  while (head < shorter && oldLines[head] === newLines[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && oldLines.at(-1 - tail) === newLines.at(-1 - tail)) tail += 1;
  return toHunk(head + 1, head + 1, [
    ...oldLines.slice(head, oldLines.length - tail).map((line) => `-${line}`),
    ...newLines.slice(head, newLines.length - tail).map((line) => `+${line}`),
  ]);
}

/** Lines at LF; a CR before it stays, it is part of what the file holds. */
function splitLines(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/**
 * Lengths follow from the lines, whatever a header said. Starts are those of the first line; a side
 * without lines names the line before, 0 in an empty file, as unified diffs do.
 */
function toHunk(oldStart: number, newStart: number, lines: readonly string[]): PatchHunk {
  const removed = countStarts(lines, '-');
  const added = countStarts(lines, '+');
  const kept = countStarts(lines, ' ');
  return {
    old_start: kept + removed === 0 ? Math.max(0, oldStart - 1) : oldStart,
    old_lines: kept + removed,
    new_start: kept + added === 0 ? Math.max(0, newStart - 1) : newStart,
    new_lines: kept + added,
    lines,
  };
}

function toPatch(hunks: readonly PatchHunk[], approximate: boolean): LinePatch {
  const count = (sign: string) => hunks.reduce((sum, hunk) => sum + countStarts(hunk.lines, sign), 0);
  return { hunks, additions: count('+'), deletions: count('-'), approximate };
}

function countStarts(lines: readonly string[], sign: string): number {
  return lines.reduce((sum, line) => (line.startsWith(sign) ? sum + 1 : sum), 0);
}

function isLineNumber(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= 0xffff_ffff;
}

export interface CappedHunks {
  readonly hunks: readonly PatchHunk[];
  readonly truncation: Truncation | undefined;
}

/** Long lines are cut, then whole trailing hunks dropped until the event's budget is kept. */
export function capHunks(
  hunks: readonly PatchHunk[],
  budgetBytes = EVENT_BUDGET_BYTES,
  lineBytes = INNER_STRING_BYTES,
): CappedHunks {
  let droppedBytes = 0;
  const cut = hunks.map((hunk) => ({
    ...hunk,
    lines: hunk.lines.map((line) => {
      const { text, dropped } = cutText(line, lineBytes);
      droppedBytes += dropped;
      return text;
    }),
  }));
  const total = cut.reduce((sum, hunk) => sum + hunkBytes(hunk), 0);
  if (total <= budgetBytes) {
    return { hunks: cut, truncation: droppedBytes > 0 ? { dropped_hunks: 0, dropped_bytes: droppedBytes } : undefined };
  }
  const pieces = cut.flatMap(splitHunk);
  const kept: PatchHunk[] = [];
  let used = 0;
  for (const piece of pieces) {
    used += hunkBytes(piece);
    if (used > budgetBytes) break;
    kept.push(piece);
  }
  const dropped = pieces.slice(kept.length);
  droppedBytes += dropped.flatMap((hunk) => hunk.lines).reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  return { hunks: kept, truncation: { dropped_hunks: dropped.length, dropped_bytes: droppedBytes } };
}

function hunkBytes(hunk: PatchHunk): number {
  return hunk.lines.reduce((sum, line) => sum + Buffer.byteLength(line) + LINE_OVERHEAD_BYTES, HUNK_OVERHEAD_BYTES);
}

/** One hunk as several that follow on one another, each no larger than a piece (or one line). */
function splitHunk(hunk: PatchHunk): PatchHunk[] {
  if (hunkBytes(hunk) <= PIECE_BYTES) return [hunk];
  const pieces: PatchHunk[] = [];
  let oldStart = hunk.old_lines === 0 ? hunk.old_start + 1 : hunk.old_start;
  let newStart = hunk.new_lines === 0 ? hunk.new_start + 1 : hunk.new_start;
  let lines: string[] = [];
  let size = 0;
  const flush = () => {
    const piece = toHunk(oldStart, newStart, lines);
    pieces.push(piece);
    oldStart += piece.old_lines;
    newStart += piece.new_lines;
    lines = [];
    size = 0;
  };
  for (const line of hunk.lines) {
    const bytes = Buffer.byteLength(line) + LINE_OVERHEAD_BYTES;
    if (lines.length > 0 && size + bytes > PIECE_BYTES && !line.startsWith('\\')) flush();
    lines.push(line);
    size += bytes;
  }
  flush();
  return pieces;
}
