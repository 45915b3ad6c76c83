// The settings file the agent is started with: our hook on the question tool, the tools it may use
// without asking, and what must not be switched off by the files of a workspace or a user.

import { writeFileSync } from 'node:fs';
import { MARKER_VARIABLE } from './end-processes.js';
import { ALLOWED_TOOLS } from './permission-policy.js';
import { QUESTION_TOOL } from './question-input.js';

/** Seconds: far above the longest tool, because a question waits for the other calls of its message. */
export const HOOK_TIMEOUT_S = 7 * 24 * 3600;
const KEEP_TRANSCRIPTS_DAYS = 36_500;

export type HookWay =
  | { readonly type: 'http'; readonly port: number }
  | { readonly type: 'command'; readonly argv: readonly string[] };

export function toSettings(way: HookWay): unknown {
  const hook =
    way.type === 'http'
      ? {
          type: 'http',
          url: `http://127.0.0.1:${way.port}/hook`,
          headers: { Authorization: `Bearer $${MARKER_VARIABLE}` },
          allowedEnvVars: [MARKER_VARIABLE],
          timeout: HOOK_TIMEOUT_S,
        }
      : { type: 'command', command: way.argv.map(shellQuote).join(' '), timeout: HOOK_TIMEOUT_S };
  return {
    hooks: { PreToolUse: [{ matcher: QUESTION_TOOL, hooks: [hook] }] },
    disableAllHooks: false,
    cleanupPeriodDays: KEEP_TRANSCRIPTS_DAYS,
    permissions: { allow: ALLOWED_TOOLS },
  };
}

export function writeSettings(path: string, way: HookWay): void {
  writeFileSync(path, `${JSON.stringify(toSettings(way), undefined, 2)}\n`, { mode: 0o600 });
}

/** One word for a POSIX shell, whatever is in it. */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** From this version on the CLI has http hooks that can defer. */
export function hasHttpHooks(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  return major > 2 || (major === 2 && (minor > 1 || (minor === 1 && patch >= 183)));
}
