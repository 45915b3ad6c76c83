// Hooks that refuse because they cannot start: a launcher that exits with 2 means "deny" to the CLI,
// and every call of the agent is refused in the same words. Counts them. Pure.

export interface LaunchDenials {
  /** The hook's command and what it printed. */
  readonly words: string;
  readonly count: number;
}

/** So many in a row and no tool of the agent works: the run is stopped. */
export const LAUNCH_DENIALS_MAX = 5;
const HOOK_ERROR = /^PreToolUse:\S+ hook error: (\[.+)$/s;

/** After one more result of a call; undefined when it was no such denial. */
export function followDenials(
  before: LaunchDenials | undefined,
  isError: boolean,
  text: string,
): LaunchDenials | undefined {
  const words = isError ? HOOK_ERROR.exec(text)?.[1]?.trim() : undefined;
  if (words === undefined) return undefined;
  return { words, count: before?.words === words ? before.count + 1 : 1 };
}
