// The changes of a session run by run, each run with its own net result. Pure.

import type { ChangeRow, RunRow } from './conversation-rows.js';
import { buildFileTotals, type FileTotal } from './net-changes.js';

export interface ChangesOfRun {
  readonly runId: string;
  readonly number: number | undefined;
  readonly changes: readonly ChangeRow[];
  readonly files: readonly FileTotal[];
}

/** Runs without changes are left out. */
export function changesByRun(changes: readonly ChangeRow[], runs: readonly RunRow[]): readonly ChangesOfRun[] {
  const numbers = new Map(runs.map(({ runId, number }) => [runId, number]));
  const byRun = new Map<string, ChangeRow[]>();
  for (const change of changes) {
    const list = byRun.get(change.runId);
    if (list === undefined) byRun.set(change.runId, [change]);
    else list.push(change);
  }
  return [...byRun].map(([runId, list]) => ({
    runId,
    number: numbers.get(runId),
    changes: list,
    files: buildFileTotals(list),
  }));
}
