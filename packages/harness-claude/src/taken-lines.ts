// Lines whose turn was told and that the agent may not have written down yet. Pure. It writes its conversation some
// tenths of a second behind what it prints, on a busy machine later still: killed in between, it has forgotten runs
// that the log shows as done. They are not run again, for what they did stays done; a notice says so (ADR 0022).

import type { Notice } from '@engram/harness-proto';

export interface TakenLine {
  readonly uuid: string;
  readonly runId: string;
}

/** Of one process, the newest. What is older was written long ago. */
const TAKEN_KEPT = 20;

export function noteTaken(lines: readonly TakenLine[] | undefined, line: TakenLine): readonly TakenLine[] {
  return [...(lines ?? []).filter(({ uuid }) => uuid !== line.uuid), line].slice(-TAKEN_KEPT);
}

/** What is left to be looked at; undefined for nothing. */
export function withoutChecked(
  lines: readonly TakenLine[] | undefined,
  checked: readonly TakenLine[],
): readonly TakenLine[] | undefined {
  const left = (lines ?? []).filter(({ uuid }) => !checked.some((one) => one.uuid === uuid));
  return left.length === 0 ? undefined : left;
}

export function forgottenNotice({ runId }: TakenLine): Notice {
  return {
    type: 'notice',
    level: 'warning',
    code: 'run_forgotten',
    run_id: runId,
    message:
      'The agent was killed before it had written this run down and does not remember it. What it did stays done; tell it what it should know.',
  };
}
