// A file change as unified patch text for the viewer, and its counts. Pure. The headers are counted
// from the lines themselves, so a wrong number in a stored hunk cannot break the view; hidden
// characters are written out; line endings are told once instead of shown on every line.

import { toVisibleString } from './visible-text.js';
import type { FileChange, PatchHunk } from './wire-types.js';

export interface PatchView {
  readonly patch: string;
  /** False when the change does not say where in the file it stands: no line numbers then. */
  readonly hasLineNumbers: boolean;
  readonly additions: number;
  readonly deletions: number;
  readonly lineCount: number;
  readonly longestLine: number;
  readonly hiddenCharacters: number;
  readonly lineEndings: 'lf' | 'crlf' | 'mixed';
}

export interface Counts {
  readonly additions: number;
  readonly deletions: number;
  readonly approximate: boolean;
}

/** Lines of a text; a final newline ends the last line, it does not begin another. */
export function toLines(text: string): readonly string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function hasFinalNewline(text: string): boolean {
  return text === '' || text.endsWith('\n');
}

const NO_NEWLINE = '\\ No newline at end of file';

/** One hunk for old → new, with the lines both begin and end with as context (three at most). */
function editHunk(before: string, after: string, start: number): PatchHunk {
  const old = toLines(before);
  const now = toLines(after);
  const sameEnd = hasFinalNewline(before) === hasFinalNewline(after);
  const limit = Math.min(old.length, now.length);
  let head = 0;
  while (head < limit && old[head] === now[head]) head += 1;
  let tail = 0;
  while (sameEnd && tail < limit - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  if (!sameEnd && head === limit && old.length === now.length) head -= 1;
  const from = Math.max(0, head - 3);
  const context = Math.min(tail, 3);
  const lines: string[] = [];
  for (const line of old.slice(from, Math.max(from, head))) lines.push(` ${line}`);
  for (const line of old.slice(Math.max(0, head), old.length - tail)) lines.push(`-${line}`);
  if (!sameEnd && !hasFinalNewline(before) && old.length > 0) lines.push(NO_NEWLINE);
  for (const line of now.slice(Math.max(0, head), now.length - tail)) lines.push(`+${line}`);
  if (!sameEnd && !hasFinalNewline(after) && now.length > 0) lines.push(NO_NEWLINE);
  for (const line of old.slice(old.length - tail, old.length - tail + context)) lines.push(` ${line}`);
  return { old_start: start, old_lines: 0, new_start: start, new_lines: 0, lines };
}

/** The change as hunks, whichever arm it came in. */
export function toHunks(change: FileChange): readonly PatchHunk[] {
  switch (change.type) {
    case 'patch':
      return change.hunks;
    case 'write': {
      const lines = toLines(change.content).map((line) => `+${line}`);
      if (!hasFinalNewline(change.content)) lines.push(NO_NEWLINE);
      return lines.length === 0 ? [] : [{ old_start: 0, old_lines: 0, new_start: 1, new_lines: 0, lines }];
    }
    case 'edit': {
      // Made-up, ascending starts: the view shows no numbers, but the patch must be well-formed.
      let start = 1;
      return change.hunks.map((hunk) => {
        const made = editHunk(hunk.old, hunk.new, start);
        start += made.lines.length + 1;
        return made;
      });
    }
  }
}

function countHunks(hunks: readonly PatchHunk[]): { additions: number; deletions: number } {
  let additions = 0;
  let deletions = 0;
  for (const hunk of hunks) {
    for (const line of hunk.lines) {
      if (line.startsWith('+')) additions += 1;
      else if (line.startsWith('-')) deletions += 1;
    }
  }
  return { additions, deletions };
}

/** What the row says. Undefined where nothing true can be said: what a plain write replaced is not known. */
export function toCounts(change: FileChange): Counts | undefined {
  switch (change.type) {
    case 'patch':
      return { additions: change.additions, deletions: change.deletions, approximate: change.approximate };
    case 'edit':
      return { ...countHunks(toHunks(change)), approximate: false };
    case 'write':
      return undefined;
  }
}

function hunkText(hunk: PatchHunk): { text: string[]; old: number; now: number } {
  let old = 0;
  let now = 0;
  const text: string[] = [];
  for (const line of hunk.lines) {
    const sign = line[0] ?? ' ';
    if (sign === '\\') {
      if (text.length > 0) text.push(NO_NEWLINE);
      continue;
    }
    const known = sign === '+' || sign === '-' || sign === ' ';
    const body = toVisibleString((known ? line.slice(1) : line).replace(/\r$/, '')).replaceAll('\n', '⟨U+000A⟩');
    if (sign !== '+') old += 1;
    if (sign !== '-') now += 1;
    text.push(`${known ? sign : ' '}${body}`);
  }
  const oldStart = old === 0 ? Math.max(0, hunk.old_start) : Math.max(1, hunk.old_start);
  const newStart = now === 0 ? Math.max(0, hunk.new_start) : Math.max(1, hunk.new_start);
  return { text: [`@@ -${oldStart},${old} +${newStart},${now} @@`, ...text], old, now };
}

/** The name the viewer picks its language by; free of anything that has a meaning in a patch. */
export function toPatchName(path: string): string {
  const name = path.split(/[\\/]/).at(-1) ?? '';
  const safe = name.replace(/[^A-Za-z0-9._+-]/g, '_');
  return safe === '' ? 'file' : safe;
}

export function toPatchView(path: string, change: FileChange): PatchView {
  const hunks = toHunks(change);
  const created = change.type === 'patch' && change.kind === 'create';
  const name = toPatchName(path);
  const text: string[] = [created ? '--- /dev/null' : `--- a/${name}`, `+++ b/${name}`];
  let longestLine = 0;
  let crlf = 0;
  let lf = 0;
  let hiddenCharacters = 0;
  for (const hunk of hunks) {
    const made = hunkText(hunk);
    if (made.old + made.now === 0) continue;
    text.push(...made.text);
    for (const line of hunk.lines) {
      if (line.startsWith('\\')) continue;
      if (line.endsWith('\r')) crlf += 1;
      else lf += 1;
      longestLine = Math.max(longestLine, line.length);
    }
    for (const line of made.text) hiddenCharacters += line.match(/⟨U\+[0-9A-F]{4,6}⟩/g)?.length ?? 0;
  }
  return {
    patch: text.length === 2 ? '' : `${text.join('\n')}\n`,
    hasLineNumbers: change.type !== 'edit',
    ...countHunks(hunks),
    lineCount: crlf + lf,
    longestLine,
    hiddenCharacters,
    lineEndings: crlf === 0 ? 'lf' : lf === 0 ? 'crlf' : 'mixed',
  };
}
