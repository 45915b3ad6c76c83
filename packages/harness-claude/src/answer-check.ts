// Whether an answer says anything to the agent. Pure. An empty or foreign answer given to the CLI
// reads "the user did not answer", so it never gets there.

import type { Answers, Question } from '@engram/harness-proto';
import { toFallbackMessage } from './answer-text.js';

export function isUsableAnswer(questions: readonly Question[], answers: Answers): boolean {
  return toFallbackMessage(questions, answers) !== undefined;
}
