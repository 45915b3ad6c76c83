import type { FileChange, FileChanged, PatchHunk } from '@engram/harness-proto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FileCall, shownPath, toFileChanged } from '../src/file-changes.js';
import { capHunks, patchOfNewFile, patchOfTexts } from '../src/line-patch.js';
import { cutText, splitText } from '../src/text-caps.js';
import { fixtureMessages, VERSIONS } from './fixture-streams.js';

const WORKSPACE = '/workspace';

/** Every file change of a recorded stream, each call joined with its result. */
function changesOf(version: string, name: string): FileChanged[] {
  const calls = new Map<string, FileCall>();
  const changes: FileChanged[] = [];
  for (const message of fixtureMessages(version, name)) {
    for (const block of message.type === 'assistant' ? message.blocks : []) {
      if (block.type === 'tool_use') {
        calls.set(block.id, { run_id: 'r1', tool_call_id: block.id, tool_name: block.name, input: block.input });
      }
    }
    if (message.type !== 'user') continue;
    for (const block of message.blocks) {
      const call = block.type === 'tool_result' ? calls.get(block.tool_use_id) : undefined;
      if (!call || block.type !== 'tool_result') continue;
      const change = toFileChanged(
        call,
        { is_error: block.is_error, tool_use_result: message.tool_use_result },
        WORKSPACE,
      );
      if (change) changes.push(change);
    }
  }
  return changes;
}

function change(name: string, input: unknown, output: unknown, isError = false): FileChange | undefined {
  const call = { run_id: 'r1', tool_call_id: 't1', tool_name: name, input };
  return toFileChanged(call, { is_error: isError, tool_use_result: output }, WORKSPACE)?.change;
}

function shown(hunks: readonly PatchHunk[], sign: string): number {
  return hunks.flatMap((h) => h.lines).filter((l) => l.startsWith(sign)).length;
}

function expectTrueCounts(found: FileChange | undefined): void {
  if (found?.type !== 'patch') throw new Error('no patch');
  expect(found.additions).toBe(shown(found.hunks, '+'));
  expect(found.deletions).toBe(shown(found.hunks, '-'));
}

describe.each(VERSIONS)('file changes of recorded %s streams', (version) => {
  it('shows a new file as its lines', () => {
    expect(changesOf(version, 'file-write-create')).toEqual([
      {
        type: 'file_changed',
        run_id: 'r1',
        tool_call_id: expect.any(String),
        path: 'new.txt',
        change: {
          type: 'patch',
          kind: 'create',
          hunks: [{ old_start: 0, old_lines: 0, new_start: 1, new_lines: 2, lines: ['+hello', '+world'] }],
          additions: 2,
          deletions: 0,
          approximate: false,
        },
      },
    ]);
  });

  it('shows what a Write over an existing file removed (DIF-01)', () => {
    const [found] = changesOf(version, 'file-write-overwrite');
    expect(found?.change).toMatchObject({ type: 'patch', kind: 'overwrite', additions: 1, deletions: 1 });
    expectTrueCounts(found?.change);
  });

  it('keeps the line numbers of an edit', () => {
    const [, second] = changesOf(version, 'file-parallel-edits');
    expect(second?.change).toMatchObject({
      kind: 'update',
      hunks: [{ old_start: 6, old_lines: 5, new_start: 6, new_lines: 5 }],
      additions: 1,
      deletions: 1,
    });
  });

  it('counts a replace_all by its patch (DIF-11)', () => {
    const [found] = changesOf(version, 'file-edit-all');
    expect(found?.change).toMatchObject({ kind: 'update', additions: 14, deletions: 14 });
    expectTrueCounts(found?.change);
  });

  it('never counts the missing newline at the end', () => {
    const [found] = changesOf(version, 'file-no-eof-newline');
    expect(found?.change).toMatchObject({ additions: 1, deletions: 1 });
    expect(found?.change.type === 'patch' && found.change.hunks[0]).toMatchObject({ old_lines: 3, new_lines: 3 });
  });

  it('compares a notebook before and after', () => {
    const [found] = changesOf(version, 'file-notebook');
    expect(found?.path).toBe('n.ipynb');
    expect(found?.change).toMatchObject({ type: 'patch', kind: 'update', deletions: 1, approximate: false });
    expectTrueCounts(found?.change);
  });

  it.each(['file-crlf', 'file-unicode', 'file-edit'])('shows one row for %s', (name) => {
    const found = changesOf(version, name);
    expect(found).toHaveLength(1);
    expectTrueCounts(found[0]?.change);
  });

  it.each(['file-edit-fail', 'file-edit-denied', 'file-multiedit', 'file-write-stale', 'file-write-overwrite-same'])(
    'shows nothing for %s',
    (name) => {
      expect(changesOf(version, name)).toEqual([]);
    },
  );
});

describe('an edit of a file the agent has not read', () => {
  it.each(['file-edit-unread', 'file-bash-change'])('is refused by 2.1.183 and done by 2.1.332 (%s)', (name) => {
    expect(changesOf('2.1.183', name)).toEqual([]);
    expect(changesOf('2.1.332', name)).toHaveLength(1);
  });
});

describe('file changes without a patch of their own', () => {
  const input = { file_path: '/workspace/a.txt', content: 'a\nB\n' };

  it('compares the old content with the new one', () => {
    const found = change('Write', input, {
      type: 'update',
      content: 'a\nB\n',
      originalFile: 'a\nb\nc\n',
      structuredPatch: [],
    });
    expect(found).toMatchObject({ type: 'patch', kind: 'overwrite', additions: 1, deletions: 2, approximate: false });
  });

  it('makes up no counts when the old content is unknown (DIF-01)', () => {
    expect(change('Write', input, undefined)).toEqual({ type: 'write', content: 'a\nB\n' });
    expect(change('Write', input, 'File written')).toEqual({ type: 'write', content: 'a\nB\n' });
    expect(change('Write', input, { type: 'update', originalFile: null, structuredPatch: [] })).toBeUndefined();
  });

  it('claims nothing about the rest of the file from the strings alone (DIF-03)', () => {
    const edit = { file_path: '/workspace/a.txt', old_string: 'b', new_string: 'B' };
    expect(change('Edit', edit, undefined)).toEqual({ type: 'edit', hunks: [{ old: 'b', new: 'B' }] });
    expect(change('Edit', edit, { structuredPatch: 'what' })).toEqual({
      type: 'edit',
      hunks: [{ old: 'b', new: 'B' }],
    });
  });

  it('shows a change of line endings that the result carries (DIF-03)', () => {
    const edit = { file_path: '/workspace/a.txt', content: 'a\nB\nc\n' };
    const found = change('Write', edit, { type: 'update', content: 'a\nB\nc\n', originalFile: 'a\r\nb\nc\r\n' });
    expect(found).toMatchObject({ additions: 3, deletions: 3 });
    expect(found?.type === 'patch' && found.hunks[0]?.lines).toContain('-a\r');
  });

  it('names a file made by an edit as made, and one emptied as changed', () => {
    const make = { file_path: '/workspace/a.txt', old_string: '', new_string: 'x\n' };
    const patch = [{ oldStart: 1, oldLines: 0, newStart: 1, newLines: 1, lines: ['+x'] }];
    expect(change('Edit', make, { originalFile: '', structuredPatch: patch })).toMatchObject({
      kind: 'create',
      hunks: [{ old_start: 0, old_lines: 0, new_start: 1, new_lines: 1 }],
    });
    const empty = { file_path: '/workspace/a.txt', content: '' };
    expect(change('Write', empty, { type: 'update', content: '', originalFile: 'x\n' })).toMatchObject({
      kind: 'overwrite',
      hunks: [{ old_start: 1, old_lines: 1, new_start: 0, new_lines: 0, lines: ['-x'] }],
    });
    expect(change('Write', empty, { type: 'create', content: '' })).toMatchObject({ kind: 'create', hunks: [] });
  });

  it('applies the edits of a MultiEdit in order', () => {
    const multi = {
      file_path: '/workspace/a.txt',
      edits: [
        { old_string: 'a', new_string: 'b' },
        { old_string: 'b', new_string: '$&', replace_all: true },
      ],
    };
    expect(change('MultiEdit', multi, { originalFileContents: 'a\nb\nz\n' })).toMatchObject({
      kind: 'update',
      hunks: [{ lines: ['-a', '-b', '+$&', '+$&', ' z'] }],
    });
    expect(change('MultiEdit', multi, {})).toEqual({
      type: 'edit',
      hunks: [
        { old: 'a', new: 'b' },
        { old: 'b', new: '$&' },
      ],
    });
  });

  it('gives no row to an edit that changes nothing (DIF-11)', () => {
    const same = { file_path: '/workspace/a.txt', old_string: 'a', new_string: 'a' };
    expect(change('Edit', same, undefined)).toBeUndefined();
    expect(change('Edit', same, { originalFile: 'a\n', structuredPatch: [] })).toBeUndefined();
  });

  it('gives no row to a failed call, another tool or a call without a path', () => {
    expect(change('Write', input, 'Error: no', true)).toBeUndefined();
    expect(change('Bash', { command: 'x' }, { stdout: '' })).toBeUndefined();
    expect(change('Write', { content: 'a' }, {})).toBeUndefined();
    expect(change('Write', null, null)).toBeUndefined();
  });

  it('stays bounded on two unlike big files and says that it guessed (DIF-07)', () => {
    const before = Array.from({ length: 20_000 }, (_, i) => `old ${i}`).join('\n');
    const after = Array.from({ length: 21_000 }, (_, i) => `new ${i}`).join('\n');
    const start = performance.now();
    const found = change(
      'Write',
      { file_path: 'big.txt', content: after },
      { type: 'update', originalFile: `x\n${before}\ny\n`, content: `x\n${after}\ny\n` },
    );
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(found).toMatchObject({ approximate: true, additions: 21_000, deletions: 20_000 });
  });
});

describe('caps of a file change', () => {
  it('keeps the start of a huge new file and says what it left out', () => {
    const content = 'x'.repeat(99).concat('\n').repeat(20_000);
    const call = { run_id: 'r1', tool_call_id: 't1', tool_name: 'Write', input: { file_path: 'a' } };
    const found = toFileChanged(call, { is_error: false, tool_use_result: { type: 'create', content } }, WORKSPACE);
    if (found?.change.type !== 'patch') throw new Error('no patch');
    expect(found.change.additions).toBe(20_000);
    const lines = shown(found.change.hunks, '+');
    expect(lines).toBeGreaterThan(4000);
    expect(lines).toBeLessThan(5300);
    expect(found.truncation?.dropped_bytes).toBe((20_000 - lines) * 100);
    expect(found.truncation?.dropped_hunks).toBeGreaterThan(0);
    expect(JSON.stringify(found).length).toBeLessThan(600 * 1024);
  });

  it('cuts one endless line at a character', () => {
    const { hunks, truncation } = capHunks(patchOfNewFile('é'.repeat(100_000)).hunks);
    const line = hunks[0]?.lines[0] ?? '';
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(64 * 1024);
    expect(line.at(-1)).toBe('é');
    expect(truncation).toEqual({ dropped_hunks: 0, dropped_bytes: 200_001 - Buffer.byteLength(line) });
  });

  it('never goes over the budget, and its hunks follow on one another', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(3000), { maxLength: 60 }),
        fc.integer({ min: 1000, max: 200_000 }),
        (sizes, budget) => {
          const patch = patchOfNewFile(sizes.map((n) => `${'y'.repeat(n)}\n`).join(''));
          const { hunks, truncation } = capHunks(patch.hunks, budget, 2000);
          const total = hunks.flatMap((h) => h.lines).reduce((sum, l) => sum + l.length, 0);
          expect(total).toBeLessThanOrEqual(budget);
          let next = 1;
          for (const hunk of hunks) {
            expect(hunk.new_start).toBe(next);
            expect(hunk.new_lines).toBe(hunk.lines.length);
            next += hunk.new_lines;
          }
          const all = patch.hunks.flatMap((h) => h.lines).reduce((sum, l) => sum + l.length, 0);
          expect(all - total).toBe(truncation?.dropped_bytes ?? 0);
        },
      ),
    );
  });
});

describe('text and path rules', () => {
  it('cuts and splits without breaking a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 4, max: 40 }), (text, max) => {
        const { text: kept, dropped } = cutText(text, max);
        expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(max);
        expect(text.startsWith(kept)).toBe(true);
        expect(Buffer.byteLength(kept) + dropped).toBe(Buffer.byteLength(text));
        const pieces = splitText(text, max);
        expect(pieces.join('')).toBe(text);
        expect(pieces.every((p) => Buffer.byteLength(p) <= max)).toBe(true);
      }),
    );
  });

  it('is relative inside the workspace and absolute outside', () => {
    expect(shownPath('/workspace/src/a.ts', '/workspace')).toBe('src/a.ts');
    expect(shownPath('src/a.ts', '/workspace')).toBe('src/a.ts');
    expect(shownPath('/workspace/..data', '/workspace')).toBe('..data');
    expect(shownPath('/workspace2/a.ts', '/workspace')).toBe('/workspace2/a.ts');
    expect(shownPath('/etc/passwd', '/workspace')).toBe('/etc/passwd');
    expect(shownPath('../x', '/workspace')).toBe('/x');
  });

  it('shows a diff of two texts whose counts are those of its lines', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const patch = patchOfTexts(before, after);
        expect(patch.additions).toBe(shown(patch.hunks, '+'));
        expect(patch.deletions).toBe(shown(patch.hunks, '-'));
        expect(patch.hunks.length === 0).toBe(before === after);
      }),
    );
  });
});
