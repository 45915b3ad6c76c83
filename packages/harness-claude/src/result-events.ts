// What the end of a turn and the CLI's own remarks add to the log: usage, and notices for failures a
// person should see. The CLI reports a failed API request as subtype "success" with is_error true.

import type { Notice, Usage } from '@engram/harness-proto';
import type { ApiError, ClaudeResult, ClaudeSystem } from './claude-message.js';
import { asNumber, asString } from './json-guards.js';
import { cutText } from './text-caps.js';

const NOTICE_BYTES = 4096;
const MICRO = 1_000_000;

/** Undefined for a turn without any inference (a repeated defer, a bookkeeping result). */
export function usageOfResult(result: ClaudeResult, costBeforeUsd: number, runId: string): Usage | undefined {
  const { usage } = result;
  if (!usage || Object.values(usage).every((count) => count === 0)) return undefined;
  const cost = result.turn_cost_usd ?? costSince(costBeforeUsd, result.total_cost_usd);
  return {
    type: 'usage',
    run_id: runId,
    input_tokens: toCount(usage.input_tokens),
    output_tokens: toCount(usage.output_tokens),
    cache_read_tokens: toCount(usage.cache_read_tokens),
    cache_write_tokens: toCount(usage.cache_write_tokens),
    ...(cost === undefined ? {} : { cost_micro_usd: toCount(cost * MICRO) }),
  };
}

/** Totals grow within a process; a smaller one means that counting began anew. */
function costSince(before: number, total: number | undefined): number | undefined {
  if (total === undefined) return undefined;
  return total >= before ? total - before : total;
}

function toCount(value: number): number {
  return Math.max(0, Math.round(value));
}

/** A notice for a turn that failed; an interrupted one and an unknown conversation are the session's to tell. */
export function noticeOfResult(
  result: ClaudeResult,
  apiError: ApiError | undefined,
  runId: string,
): Notice | undefined {
  if (!result.is_error || result.terminal_reason?.startsWith('aborted') || isUnknownConversation(result)) {
    return undefined;
  }
  const said = result.result || result.errors.join('\n') || result.subtype;
  if (result.terminal_reason === 'api_error' || result.subtype === 'success' || apiError) {
    const status = result.api_error_status ?? apiError?.status;
    return notice('error', isAuthError(status, apiError?.kind) ? 'auth_error' : 'api_error', said, runId);
  }
  return notice('error', 'agent_error', said, runId);
}

function isAuthError(status: number | undefined, kind: string | undefined): boolean {
  return status === 401 || status === 403 || kind === 'authentication_failed';
}

/** The CLI ended because it has no conversation of the id it was to resume. */
export function isUnknownConversation(result: ClaudeResult): boolean {
  return result.is_error && result.errors.some((error) => error.startsWith('No conversation found'));
}

export function noticeOfSystem(message: ClaudeSystem, runId: string): Notice | undefined {
  switch (message.subtype) {
    case 'compact_boundary':
      return notice('info', 'context_compacted', 'The agent condensed the conversation so far.', runId);
    case 'api_retry': {
      // Told once per series, not at each attempt.
      if (asNumber(message.fields.attempt) !== 1) return undefined;
      const status = asNumber(message.fields.error_status);
      if (isAuthError(status, asString(message.fields.error))) {
        // The CLI goes on trying for minutes; the person can act at once.
        const text = 'The model API refused the credentials; the agent tries again before it gives up.';
        return notice('warning', 'auth_error', text, runId);
      }
      const why = status === undefined ? 'did not answer' : `answered ${status}`;
      return notice('warning', 'api_retry', `The model API ${why}; the agent tries again.`, runId);
    }
    default:
      return undefined;
  }
}

function notice(level: Notice['level'], code: string, message: string, runId: string): Notice {
  return { type: 'notice', level, code, message: cutText(message, NOTICE_BYTES).text, run_id: runId };
}
