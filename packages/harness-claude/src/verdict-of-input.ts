// What an input decides about a parked call: its verdict, or that its card closes without waking the
// agent. Pure, and the same in every state of the question.

import type { ParkedCall, QuestionInput, Verdict } from './question-state.js';

/** What a command decides about the parked call; undefined when the input is none of these or for another call. */
export function toVerdict(input: QuestionInput, call: ParkedCall): Verdict | undefined {
  if (input.type === 'answer' && input.toolCallId === call.toolCallId)
    return { type: 'answer', answers: input.answers };
  if (input.type === 'prompt') return { type: 'superseded', promptId: input.promptId, text: input.text };
  if (input.type === 'dismiss' && input.toolCallId === call.toolCallId && input.reason !== 'interrupted') {
    return { type: 'denied', reason: input.reason };
  }
  return undefined;
}

/** Closed without a wake: the denial stays owed. */
export function toClosing(input: QuestionInput, call: ParkedCall): string | undefined {
  if (input.type === 'interrupt') return 'interrupted';
  if (input.type === 'dismiss' && input.toolCallId === call.toolCallId) return input.reason;
  if (input.type === 'closed_elsewhere' && input.toolCallId === call.toolCallId) return 'withdrawn';
  return undefined;
}

/** A verdict for a card that was closed before: words of the user travel with the denial that is owed. */
export function afterClosing(reason: string, verdict: Verdict): Verdict {
  if (verdict.type !== 'superseded' || reason !== 'interrupted') return verdict;
  return { type: 'denied_then_prompt', reason, promptId: verdict.promptId, text: verdict.text };
}
