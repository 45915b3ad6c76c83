import { processFile } from '@pierre/diffs';
import { describe, expect, it, vi } from 'vitest';
import { toCounts, toPatchName, toPatchView } from '../src/patch-text.js';
import type { FileChange, PatchHunk } from '../src/wire-types.js';

// The viewer's package asks for the browser's name when it is loaded; Node 20 has none.
vi.hoisted(() => {
  if (!('navigator' in globalThis)) Object.defineProperty(globalThis, 'navigator', { value: { userAgent: '' } });
});

const hunk = (lines: readonly string[], old_start = 1, new_start = 1): PatchHunk => ({
  old_start,
  old_lines: 99,
  new_start,
  new_lines: 99,
  lines,
});
const patch = (
  hunks: readonly PatchHunk[],
  rest: Partial<Extract<FileChange, { type: 'patch' }>> = {},
): FileChange => ({
  type: 'patch',
  kind: 'update',
  hunks,
  additions: 0,
  deletions: 0,
  approximate: false,
  ...rest,
});
const edit = (before: string, after: string): FileChange => ({ type: 'edit', hunks: [{ old: before, new: after }] });

/** What the viewer counts in the expanded diff. */
function shown(change: FileChange) {
  const view = toPatchView('a.ts', change);
  if (view.patch === '') return { additions: 0, deletions: 0 };
  const parsed = processFile(view.patch, { isGitDiff: false, throwOnError: true });
  if (parsed === undefined) throw new Error('not a patch');
  return {
    additions: parsed.hunks.reduce((sum, h) => sum + h.additionLines, 0),
    deletions: parsed.hunks.reduce((sum, h) => sum + h.deletionLines, 0),
  };
}

describe('patch text', () => {
  it('keeps the true line numbers and counts its headers from the lines', () => {
    const view = toPatchView('src/a.ts', patch([hunk([' a', '-b', '+B', '+C'], 412, 415)]));
    expect(view.patch).toBe('--- a/a.ts\n+++ b/a.ts\n@@ -412,2 +415,3 @@\n a\n-b\n+B\n+C\n');
    expect(view).toMatchObject({ hasLineNumbers: true, additions: 2, deletions: 1 });
  });

  it('claims no line numbers for an edit that only holds its strings', () => {
    expect(toPatchView('a.ts', edit('x', 'y')).hasLineNumbers).toBe(false);
  });

  it('says nothing about the size of a write whose old content is not known', () => {
    expect(toCounts({ type: 'write', content: 'a\nb\n' })).toBeUndefined();
  });

  it('shows an overwrite with what it removed', () => {
    const change = patch([hunk(['-1', '-2', '-3', '+x'])], { kind: 'overwrite', additions: 1, deletions: 3 });
    expect(toCounts(change)).toEqual({ additions: 1, deletions: 3, approximate: false });
    expect(shown(change)).toEqual({ additions: 1, deletions: 3 });
  });

  it('counts a CRLF edit as one line each way and shows no CR', () => {
    const change = edit('a\r\nb\r\n', 'a\r\nB\r\n');
    expect(toCounts(change)).toMatchObject({ additions: 1, deletions: 1 });
    const view = toPatchView('a.ts', change);
    expect(view.patch).not.toContain('\r');
    expect(view.patch).not.toContain('U+000D');
    expect(view.lineEndings).toBe('crlf');
  });

  it('flags mixed line endings', () => {
    expect(toPatchView('a', patch([hunk([' a\r', '-b', '+B'])])).lineEndings).toBe('mixed');
  });

  it('counts what the expanded view shows, at every end of file', () => {
    const pairs = [
      ['a', 'a\n'],
      ['', 'a'],
      ['a\n', ''],
      ['', ''],
      ['1\n2\n3', '1\n2\n3\n4'],
      ['a\nb\n', 'a\nB\n'],
      ['x', 'y'],
      ['same\n', 'same\n'],
    ] as const;
    for (const [before, after] of pairs) {
      const change = edit(before, after);
      expect([before, after, toCounts(change)]).toEqual([before, after, { ...shown(change), approximate: false }]);
    }
    const created: FileChange = patch([hunk(['+a', '+b', '\\ No newline at end of file'], 0, 1)], { kind: 'create' });
    expect(shown(created)).toEqual({ additions: 2, deletions: 0 });
    expect(toPatchView('a', created).patch).toContain('--- /dev/null');
  });

  it('marks a missing newline only where it is true', () => {
    expect(toPatchView('a', edit('a\n', 'b\n')).patch).not.toContain('No newline');
    expect(toPatchView('a', edit('a', 'a\n')).patch.match(/No newline/g)).toHaveLength(1);
  });

  it('makes hidden characters visible in the lines and counts them', () => {
    const view = toPatchView('a.ts', patch([hunk(['+ok \u202Eevil\u2069', ' \u001b[2J'])]));
    expect(view.patch).toContain('+ok ⟨U+202E⟩evil⟨U+2069⟩');
    expect(view.hiddenCharacters).toBe(3);
  });

  it('stays a well-formed patch with a hostile path and hostile lines', () => {
    const path = 'a\n--- b\u202E/<img src=x>.ts';
    const change = patch([
      hunk(['+</script><img src=x onerror=alert(1)>', '+--- a/x', '+@@ -1 +1 @@', 'no sign', '+two\nlines']),
    ]);
    const view = toPatchView(path, change);
    const parsed = processFile(view.patch, { isGitDiff: false, throwOnError: true });
    expect(parsed?.hunks).toHaveLength(1);
    expect(shown(change)).toEqual({ additions: 4, deletions: 0 });
  });

  it('names a file for its language only', () => {
    expect(toPatchName('src/a b/Dockerfile')).toBe('Dockerfile');
    expect(toPatchName('x/y<z>.tsx')).toBe('y_z_.tsx');
    expect(toPatchName('')).toBe('file');
  });
});
