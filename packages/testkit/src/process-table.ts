// Which processes belong to one Engram, by kind, read from /proc: what it started (and what those
// started), whatever is left of an earlier life on the same data folder, and nothing else.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

export type ProcessKind = 'up' | 'serve' | 'host' | 'postgres' | 'harness' | 'agent' | 'other';

export interface ProcessRow {
  readonly pid: number;
  readonly ppid: number;
  readonly kind: ProcessKind;
  readonly argv: readonly string[];
}

interface RawProcess {
  readonly pid: number;
  readonly ppid: number;
  readonly argv: readonly string[];
  readonly environ: readonly string[];
  readonly program: string;
}

/** `dataDir` is a real path; `roots` are pids known to be this Engram's, alive or not. */
export function readProcessTable(dataDir: string, roots: readonly number[] = []): readonly ProcessRow[] {
  const all = readAll();
  const ours = new Set<number>([...roots, ...harnessPids(dataDir)]);
  for (const each of all) if (isMarked(each, dataDir)) ours.add(each.pid);
  for (let grown = true; grown; ) {
    grown = false;
    for (const { pid, ppid } of all) {
      if (ours.has(ppid) && !ours.has(pid)) {
        ours.add(pid);
        grown = true;
      }
    }
  }
  return all
    .filter(({ pid }) => ours.has(pid) && pid !== process.pid)
    .map((each) => ({ pid: each.pid, ppid: each.ppid, kind: kindOf(each), argv: each.argv }));
}

function isMarked({ argv, environ }: RawProcess, dataDir: string): boolean {
  if (argv.some((word) => word === dataDir || word.includes(`${dataDir}/`))) return true;
  return environ.some((entry) => /^(HOME|CLAUDE_CONFIG_DIR|TMPDIR)=/.test(entry) && entry.includes(`=${dataDir}/`));
}

function kindOf({ argv, program }: RawProcess): ProcessKind {
  const words = argv.join(' ');
  if (/\/claude(-code-[\w-]+)?\/?[^/]*$/.test(program) && /claude[^/]*$/.test(program)) return 'agent';
  if (words.includes('harness-claude/dist/main.js run')) return 'harness';
  if (/main\.js serve --supervised/.test(words)) return 'serve';
  if (/main\.js host --supervised/.test(words)) return 'host';
  if (/main\.js up( |$)|start\.mjs/.test(words)) return 'up';
  if (/(^|\/)postgres$/.test(argv[0] ?? '') || words.startsWith('postgres: ') || /\/postgres$/.test(program))
    return 'postgres';
  return 'other';
}

function harnessPids(dataDir: string): readonly number[] {
  try {
    return readdirSync(join(dataDir, 'harnesses'))
      .map((name) => Number.parseInt(name, 10))
      .filter(Number.isSafeInteger);
  } catch {
    return [];
  }
}

function readAll(): readonly RawProcess[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isSafeInteger(pid)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      // A zombie is gone but for its parent's notice.
      if (state === 'Z' || state === 'X') return [];
      const read = (file: string): readonly string[] =>
        readFileSync(`/proc/${name}/${file}`, 'utf8')
          .split('\0')
          .filter((word) => word !== '');
      return [
        {
          pid,
          ppid: Number(ppid),
          argv: read('cmdline'),
          environ: readOr(() => read('environ'), []),
          program: readOr(() => readlinkSync(`/proc/${name}/exe`), ''),
        },
      ];
    } catch {
      return [];
    }
  });
}

function readOr<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
