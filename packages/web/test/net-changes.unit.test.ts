import { describe, expect, it } from 'vitest';
import type { ChangeRow } from '../src/conversation-rows.js';
import { buildFileTotals, sumTotals } from '../src/net-changes.js';
import type { FileChange, PatchHunk, PatchKind } from '../src/wire-types.js';

let made = 0;
function row(path: string, change: FileChange, truncation?: ChangeRow['truncation']): ChangeRow {
  made += 1;
  return { kind: 'change', key: `e${made}`, idx: made, runId: 'r1', path, change, truncation };
}
function patched(path: string, kind: PatchKind, at: number, lines: readonly string[]): ChangeRow {
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  const hunk: PatchHunk = {
    old_start: at,
    old_lines: lines.length - count('+'),
    new_start: at,
    new_lines: lines.length - count('-'),
    lines,
  };
  return row(path, {
    type: 'patch',
    kind,
    hunks: [hunk],
    additions: count('+'),
    deletions: count('-'),
    approximate: false,
  });
}

describe('net changes', () => {
  it('forgets lines that were added and removed again', () => {
    const [file] = buildFileTotals([
      patched('a.ts', 'update', 10, [' x', '+new 1', '+new 2', ' y']),
      patched('a.ts', 'update', 10, [' x', '-new 1', '+newer 1', ' new 2']),
      patched('a.ts', 'update', 11, ['-newer 1', '-new 2']),
    ]);
    expect(file).toMatchObject({ additions: 0, deletions: 0, approximate: false });
  });

  it('counts an original line once, however often its replacement was edited', () => {
    const [file] = buildFileTotals([
      patched('a.ts', 'update', 5, ['-old', '+one']),
      patched('a.ts', 'update', 5, ['-one', '+two']),
    ]);
    expect(file).toMatchObject({ additions: 1, deletions: 1, approximate: false });
  });

  it('follows a created file through its edits', () => {
    const [file] = buildFileTotals([
      patched('b.ts', 'create', 1, ['+1', '+2', '+3']),
      patched('b.ts', 'update', 2, ['-2', '+two', '+two and a half']),
    ]);
    expect(file).toMatchObject({ additions: 4, deletions: 0, created: true });
  });

  it('sums and says so when the log does not hold enough', () => {
    const cut = { ...patched('a.ts', 'update', 1, ['+x']), truncation: { dropped_hunks: 1, dropped_bytes: 0 } };
    const [file] = buildFileTotals([patched('a.ts', 'update', 1, ['-y', '+x']), cut]);
    expect(file).toMatchObject({ additions: 2, deletions: 1, approximate: true });
  });

  it('says that a plain write is not counted', () => {
    const files = buildFileTotals([
      row('c.txt', { type: 'write', content: 'x\n' }),
      patched('a.ts', 'update', 1, ['+x']),
    ]);
    expect(files[0]).toMatchObject({ additions: 0, deletions: 0, partlyUnknown: true });
    expect(sumTotals(files)).toEqual({ additions: 1, deletions: 0, approximate: true });
  });

  it('agrees with replaying random edits on a real file', () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    for (let round = 0; round < 200; round += 1) {
      const original = Array.from({ length: 20 }, (_, at) => `o${at}`);
      let now = [...original];
      const rows: ChangeRow[] = [];
      for (let step = 0; step < 6; step += 1) {
        const at = random(now.length);
        const removed = now.slice(at, at + random(4));
        const added = Array.from({ length: random(4) }, (_, n) => `n${round}.${step}.${n}`);
        const hunk = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)];
        if (hunk.length === 0) continue;
        rows.push(patched('a.ts', 'update', at + 1, hunk));
        now = now.toSpliced(at, removed.length, ...added);
        if (now.length === 0) break;
      }
      if (rows.length === 0) continue;
      const [file] = buildFileTotals(rows);
      expect(file).toMatchObject({
        additions: now.filter((line) => line.startsWith('n')).length,
        deletions: original.filter((line) => !now.includes(line)).length,
      });
    }
  });
});
