// Does the tool result on the stream carry what we owed? Pure. The CLI makes up results of its own
// (a placeholder after an error, "the user did not answer"); those are no proof.

import { assertNever } from '@engram/harness-proto';
import { carriesAnswers, toDismissalReason } from './answer-text.js';
import type { ParkedCall, Verdict } from './question-state.js';

export function verdictCarried(call: ParkedCall, verdict: Verdict, isError: boolean, text: string): boolean {
  switch (verdict.type) {
    case 'answer':
      return !isError && carriesAnswers(text, call.questions, verdict.answers);
    case 'superseded':
      return !isError && text.includes(verdict.text);
    case 'denied':
      return isError && text.includes(toDismissalReason(verdict.reason));
    case 'denied_then_prompt':
      return isError && text.includes(verdict.text);
    default:
      return assertNever(verdict);
  }
}
