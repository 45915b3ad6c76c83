// Tells the agent's output as events of the open run. Holds the translator's state, one per agent
// process, and keeps it in step with runs and questions.

import type { HarnessEvent } from '@engram/harness-proto';
import type { ClaudeMessage } from './claude-message.js';
import { keepImages } from './result-images.js';
import {
  closeOpenCalls,
  initialTranslateState,
  noteQuestions,
  resumeText,
  type TranslateState,
  type Translation,
  translate,
} from './translate.js';

export class LogTeller {
  private readonly workspace: string;
  private readonly stateDir: string;
  private state: TranslateState;
  private runId: string | undefined;

  constructor(workspace: string, stateDir: string) {
    this.workspace = workspace;
    this.stateDir = stateDir;
    this.state = initialTranslateState({ workspace });
  }

  agentStarted(): void {
    this.state = initialTranslateState({ workspace: this.workspace });
    this.runId = undefined;
  }

  questionNoted(toolCallId: string): void {
    this.state = noteQuestions(this.state, [toolCallId]);
  }

  textResumed(): void {
    this.state = resumeText(this.state);
  }

  tell(message: ClaudeMessage, runId: string | undefined): readonly HarnessEvent[] {
    if (runId !== undefined && runId !== this.runId) {
      this.runId = runId;
      this.textResumed();
    }
    // First the bytes, then the word of them.
    keepImages(message, this.stateDir);
    // Read even when no run is open: what a line says may explain a later one.
    const events = this.take(translate(this.state, message, { nowMs: Date.now(), runId: runId ?? '' }));
    return runId === undefined ? [] : events;
  }

  /** Calls that will never have a result. */
  cutOff(runId: string | undefined, reason: string): readonly HarnessEvent[] {
    return runId === undefined ? [] : this.take(closeOpenCalls(this.state, { nowMs: Date.now(), runId }, reason));
  }

  private take({ state, events }: Translation): readonly HarnessEvent[] {
    this.state = state;
    return events;
  }
}
