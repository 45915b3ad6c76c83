// What the host's commands mean for the question and the runs together, redeliveries included. Pure:
// works on the draft of one step of session-core.

import type { Answers, OpenQuestion } from '@engram/harness-proto';
import { isUsableAnswer } from './answer-check.js';
import { summarizePrompt } from './prompt-line.js';
import { stepQuestion } from './question-core.js';
import type { ParkedCall } from './question-state.js';
import { stepRun } from './run-core.js';
import { isPromptKnown } from './run-state.js';
import type { SessionDraft } from './session-draft.js';

export function takePrompt(draft: SessionDraft, promptId: string, text: string) {
  const { question, runs } = draft.state;
  if (isPromptKnown(runs, promptId) || carriesPrompt(draft, promptId)) return;
  const started = runs.started.find((one) => one.promptId === promptId);
  if (started) return tellAgain(draft, started.promptId, started.runId);
  draft.set({ paused: false });
  const { state, effects } = stepQuestion(question, { type: 'prompt', promptId, text });
  draft.useQuestion({ state, effects });
  if (carriesPrompt(draft, promptId)) return;
  draft.useRuns(stepRun(draft.state.runs, { type: 'enqueue', promptId, text }));
  draft.finish();
  if (!draft.state.runs.queue.some((prompt) => prompt.promptId === promptId)) return;
  draft.emit({ type: 'prompt_queued', prompt_id: promptId, summary: summarizePrompt(text) });
}

/** Redelivered although its run was reported: say so again, and do nothing else. */
function tellAgain(draft: SessionDraft, promptId: string, runId: string) {
  const { turn } = draft.state.runs;
  draft.emit({ type: 'run_started', run_id: runId, prompt_id: promptId });
  if (turn.status === 'running' && turn.runId === runId) return;
  draft.emit({ type: 'run_completed', run_id: runId, ok: true });
}

function carriesPrompt(draft: SessionDraft, promptId: string): boolean {
  const { question } = draft.state;
  const verdict = question.status === 'answering' || question.status === 'parking' ? question.verdict : undefined;
  return verdict !== undefined && 'promptId' in verdict && verdict.promptId === promptId;
}

export function takeAnswer(draft: SessionDraft, toolCallId: string, answers: Answers) {
  const { question } = draft.state;
  if (tellConsumed(draft, toolCallId)) return;
  if (question.status === 'none' || question.call.toolCallId !== toolCallId) {
    const message = 'An answer came for a question that is not open here. It was not given to the agent.';
    return draft.notice('warning', 'answer_stale', message, toolCallId);
  }
  if (!isUsableAnswer(question.call.questions, answers)) {
    const message = 'An answer without any content came for this question. It was not given to the agent.';
    return draft.notice('error', 'answer_failed', message, toolCallId);
  }
  draft.set({ paused: false });
  draft.useQuestion(stepQuestion(question, { type: 'answer', toolCallId, answers }));
}

export function takeDismissal(draft: SessionDraft, toolCallId: string, reason: string) {
  if (tellConsumed(draft, toolCallId)) return;
  draft.set({ paused: false });
  draft.useQuestion(stepQuestion(draft.state.question, { type: 'dismiss', toolCallId, reason }));
}

function tellConsumed(draft: SessionDraft, toolCallId: string): boolean {
  const consumed = draft.state.consumed.find((call) => call.toolCallId === toolCallId);
  if (consumed) draft.emit(consumed.event);
  return consumed !== undefined;
}

export function reconcile(draft: SessionDraft, open: readonly OpenQuestion[], closed: readonly string[]) {
  for (const toolCallId of closed) {
    draft.useQuestion(stepQuestion(draft.state.question, { type: 'closed_elsewhere', toolCallId }));
  }
  const { question } = draft.state;
  if (question.status !== 'none') {
    const { toolCallId } = question.call;
    const known = open.some((one) => one.tool_call_id === toolCallId) || closed.includes(toolCallId);
    if (!known) draft.useQuestion(stepQuestion(question, { type: 'unknown_elsewhere' }));
  }
  for (const one of open) adopt(draft, one);
}

/** The log has an open question that draft harness never knew: its files are older than the log. */
function adopt(draft: SessionDraft, { tool_call_id: toolCallId, questions }: OpenQuestion) {
  const { question, agent } = draft.state;
  if (question.status !== 'none' || agent !== 'absent' || draft.isConsumed(toolCallId)) return;
  const call: ParkedCall = { toolCallId, runId: draft.runId, questions };
  draft.useQuestion(stepQuestion(draft.state.question, { type: 'adopted', call }));
}
