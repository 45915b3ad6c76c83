// What changed between two states of a session: how it must be saved, and the log line it is worth.

import type { Logger } from 'pino';
import type { SessionEffect, SessionState } from './session-core.js';

/** What must be on the disk before anything is done, what should be saved, and what lives in memory. */
export function toChange(saved: SessionState, state: SessionState): 'none' | 'minor' | 'vital' {
  if (
    saved.question !== state.question ||
    saved.runs !== state.runs ||
    saved.claudeSessionId !== state.claudeSessionId
  ) {
    return 'vital';
  }
  const minor =
    saved.consumed !== state.consumed ||
    saved.hookMisses !== state.hookMisses ||
    saved.taken !== state.taken ||
    saved.policyTold !== state.policyTold ||
    saved.questionToolMissing !== state.questionToolMissing;
  return minor ? 'minor' : 'none';
}

/** The one effect that need not wait for the save: an agent resumed for its parked call does nothing before our reply. */
export function startAhead({ question }: SessionState, effects: readonly SessionEffect[]): SessionEffect | undefined {
  const parked = question.status === 'attending' || (question.status === 'answering' && question.route === 'resume');
  return parked ? effects.find((effect) => effect.type === 'start_agent') : undefined;
}

export function logChange(log: Logger, before: SessionState, after: SessionState): void {
  const { question, runs, agent } = after;
  if (question.status !== before.question.status) {
    const call = question.status === 'none' ? before.question : question;
    const toolCallId = call.status === 'none' ? undefined : call.call.toolCallId;
    log.info({ toolCallId, from: before.question.status, to: question.status }, 'question');
  }
  if (runs.turn.status !== before.runs.turn.status) {
    log.info({ from: before.runs.turn.status, to: runs.turn.status, queued: runs.queue.length }, 'turn');
  }
  if (agent !== before.agent) log.debug({ from: before.agent, to: agent }, 'agent');
}
