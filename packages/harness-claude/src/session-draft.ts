// The next session state while one input is applied, and what each kind of input means for the
// question, the runs and the gate together. Pure: a draft lives inside one step of session-core.

import { type Answers, assertNever, type HarnessEvent, type OpenQuestion } from '@engram/harness-proto';
import { isUsableAnswer } from './answer-check.js';
import { SIBLING_DENIAL } from './answer-text.js';
import {
  type CallOrder,
  CLOSED_GATE,
  decideGate,
  gateCallSeen,
  gateDenied,
  gateDropped,
  gateFireLost,
  gateMessageStarted,
  gateUnreplied,
  type HeldFire,
} from './defer-gate.js';
import { PERMISSION_POLICY } from './permission-policy.js';
import { summarizePrompt } from './prompt-line.js';
import { type Fire, type ParkedCall, type QuestionStep, stepQuestion, type Verdict } from './question-core.js';
import { joinQuestionInputs, parseQuestionInput } from './question-input.js';
import { currentPromptId, isPromptKnown, type LineTrace, type RunStep, stepRun, type TurnOutcome } from './run-core.js';
import type { SessionEffect, SessionState, SessionStep, TurnResult } from './session-core.js';
import { finishSession } from './session-pump.js';
import { verdictCarried } from './verdict-proof.js';

const CONSUMED_KEPT = 50;
const ASK_ALONE =
  'The user has not seen this question: the other calls of your message wait for it. Ask it again, alone, when they are done.';
const ASK_AGAIN = 'The question could not be shown to the user. Ask it again.';

export class SessionDraft {
  state: SessionState;
  readonly runId: string;
  private readonly effects: SessionEffect[] = [];

  constructor(state: SessionState, runId: string) {
    this.state = state;
    this.runId = runId;
  }

  step(): SessionStep {
    return { state: this.state, effects: this.effects };
  }

  set(change: Partial<SessionState>) {
    this.state = { ...this.state, ...change };
  }

  push(effect: SessionEffect) {
    this.effects.push(effect);
  }

  emit(event: HarnessEvent) {
    this.push({ type: 'emit', event });
  }

  finish() {
    finishSession(this);
  }

  isConsumed(toolCallId: string): boolean {
    return this.state.consumed.some((call) => call.toolCallId === toolCallId);
  }

  deny(fireId: string, reason: string) {
    this.push({ type: 'reply', fire: { fireId, channel: 'hook' }, reply: { type: 'deny', reason } });
  }

  // ---- steps of the two cores -------------------------------------------------------------

  useQuestion({ state, effects }: QuestionStep) {
    this.set({ question: state });
    for (const effect of effects) {
      switch (effect.type) {
        case 'emit':
        case 'reply':
        case 'check_deferred':
        case 'check_marker':
        case 'check_answer':
          this.push(effect);
          break;
        case 'end_agent':
          this.endAgent();
          break;
        case 'start_hold':
          this.push({ type: 'set_timer', name: 'hold', ms: effect.holdMs });
          break;
        case 'delivered':
          this.delivered(effect.call, effect.verdict, effect.runId);
          break;
        case 'give_up':
          this.notice(
            'error',
            'answer_failed',
            'The reply to this question did not reach the agent.',
            effect.call.toolCallId,
          );
          break;
        default:
          assertNever(effect);
      }
    }
  }

  useRuns({ state, effects }: RunStep) {
    this.set({ runs: state });
    for (const effect of effects) {
      switch (effect.type) {
        case 'emit':
        case 'write_line':
        case 'check_line':
        case 'kill_agent':
          this.push(effect);
          break;
        case 'send_interrupt':
          this.push(effect);
          this.push({ type: 'set_timer', name: 'interrupt' });
          break;
        case 'verdict_taken':
          this.useQuestion(stepQuestion(this.state.question, { type: 'message_taken', runId: effect.runId }));
          break;
        case 'settle_run':
          this.settleRun(effect.trace);
          break;
        default:
          assertNever(effect);
      }
    }
  }

  /** The open run's process is gone: its transcript says how far it came. */
  private settleRun(trace: LineTrace) {
    if (trace === 'finished') this.turnOver('ok');
    else this.useRuns(stepRun(this.state.runs, { type: 'run_cut' }));
  }

  answerChecked(trace: LineTrace, carries: boolean) {
    const before = this.state.question;
    if (before.status !== 'answering') return;
    this.useQuestion(stepQuestion(before, { type: 'answer_checked', carries, runId: this.runId }));
    if (this.state.question.status === 'none') this.settleRun(trace);
  }

  // ---- the agent's stream -----------------------------------------------------------------

  messageStarted(messageId: string) {
    const { question, runs, gate } = this.state;
    const isNew = gate.messageId !== messageId;
    if (
      isNew &&
      (question.status === 'deferring' || (question.status === 'answering' && runs.turn.status === 'none'))
    ) {
      this.useQuestion(stepQuestion(question, { type: 'narrated' }));
    }
    this.set({ gate: gateMessageStarted(gate, messageId) });
    this.turnBegan();
  }

  turnBegan() {
    this.useRuns(stepRun(this.state.runs, { type: 'turn_began', runId: this.runId }));
  }

  callSeen(messageId: string, toolCallId: string, order: CallOrder) {
    this.turnBegan();
    this.set({ gate: gateCallSeen(this.state.gate, messageId, toolCallId, order) });
    this.tryGate();
  }

  callResult(toolCallId: string, isError: boolean, text: string) {
    const { question } = this.state;
    const carries = question.status === 'answering' && verdictCarried(question.call, question.verdict, isError, text);
    this.useQuestion(stepQuestion(question, { type: 'call_result', toolCallId, carries, runId: this.runId }));
  }

  tryGate() {
    const { gate } = this.state;
    const decision = decideGate(gate);
    switch (decision.type) {
      case 'wait':
        return;
      case 'deny_blocking':
        for (const fire of decision.fires) {
          this.deny(fire.fireId, ASK_ALONE);
          const message =
            'The agent asked a question with changes behind it in one go. It is told to ask again afterwards.';
          this.notice('info', 'question_withdrawn', message, fire.toolCallId);
        }
        return this.set({ gate: gateDropped(gate, decision.fires) });
      case 'deny_siblings':
        for (const fire of decision.fires) this.deny(fire.fireId, SIBLING_DENIAL);
        return this.set({ gate: gateDenied(gate, decision.fires) });
      case 'defer': {
        this.set({ gate: gateFireLost(gate, decision.fire.fireId) });
        const call = this.toParkedCall(decision.fire, decision.siblings);
        if (!call) return this.deny(decision.fire.fireId, 'The question has no text that can be shown. Ask it again.');
        const { fireId } = decision.fire;
        return this.useQuestion(stepQuestion(this.state.question, { type: 'gate_opened', call, fireId }));
      }
      default:
        return assertNever(decision);
    }
  }

  /** On the card the questions stand in the message's order. */
  private toParkedCall(fire: HeldFire, siblings: readonly HeldFire[]): ParkedCall | undefined {
    const parsed = [...siblings, fire].map((one) => parseQuestionInput(one.input)).filter((one) => one !== undefined);
    if (parsed.length === 0) return undefined;
    const card = joinQuestionInputs(parsed);
    const { turn } = this.state.runs;
    return {
      toolCallId: fire.toolCallId,
      runId: turn.status === 'running' ? turn.runId : this.runId,
      questions: card.questions,
      ...(card.option_previews ? { optionPreviews: card.option_previews } : {}),
      input: fire.input,
    };
  }

  releaseGate(reason: string) {
    for (const fire of gateUnreplied(this.state.gate)) this.deny(fire.fireId, reason);
    this.set({ gate: CLOSED_GATE });
    this.push({ type: 'clear_timer', name: 'gate' });
    this.push({ type: 'clear_timer', name: 'blocked' });
  }

  turnResult(result: TurnResult) {
    const { turn } = this.state.runs;
    if (result.unknownSession) return this.sessionUnknown();
    if (turn.status === 'none') return this.resultOutsideRun(result);
    if (turn.status !== 'running') {
      // The CLI reports on a transcript it mended before it reads our line.
      if (result.empty) return;
      this.turnBegan();
    }
    this.endTurn(result);
  }

  private endTurn(result: TurnResult) {
    const { turn } = this.state.runs;
    const interrupted = turn.status === 'running' && turn.interrupting;
    const { question } = this.state;
    this.push({ type: 'clear_timer', name: 'interrupt' });
    this.releaseGate(ASK_AGAIN);
    const { deferred } = result;
    if (deferred && question.status === 'deferring' && question.call.toolCallId === deferred.toolCallId) {
      const { poisoned } = result;
      this.useQuestion(
        stepQuestion(question, { type: 'turn_deferred', toolCallId: deferred.toolCallId, interrupted, poisoned }),
      );
      return this.turnOver(interrupted ? 'interrupted' : 'ok');
    }
    this.useQuestion(stepQuestion(question, { type: 'turn_ended' }));
    if (deferred) {
      const message = `A hook of yours put off a call of ${deferred.toolName}; nobody can take it up again. The run ends here.`;
      this.notice('warning', 'foreign_deferral', message, deferred.toolCallId);
      this.turnOver(interrupted ? 'interrupted' : 'failed');
      return this.endAgent();
    }
    this.turnOver(interrupted ? 'interrupted' : result.ok ? 'ok' : 'failed');
  }

  private turnOver(outcome: TurnOutcome) {
    this.useRuns(stepRun(this.state.runs, { type: 'turn_over', outcome }));
  }

  private resultOutsideRun(result: TurnResult) {
    const { question } = this.state;
    if (result.deferred) {
      const { toolCallId } = result.deferred;
      const again = { type: 'turn_deferred', toolCallId, interrupted: false, poisoned: result.poisoned } as const;
      return this.useQuestion(stepQuestion(question, again));
    }
    if (result.toolUnavailable) this.useQuestion(stepQuestion(question, { type: 'resume_failed' }));
  }

  private sessionUnknown() {
    const { claudeSessionId: _gone, ...rest } = this.state;
    this.state = rest;
    this.notice('error', 'context_lost', 'The agent does not know this conversation any more and starts a new one.');
    this.useQuestion(stepQuestion(this.state.question, { type: 'resume_failed' }));
    this.useRuns(stepRun(this.state.runs, { type: 'take_back' }));
    this.endAgent();
  }

  agentExited(reason: string) {
    this.set({ agent: 'absent', gate: CLOSED_GATE });
    for (const name of ['hook_silent', 'hold', 'interrupt', 'gate', 'blocked'] as const)
      this.push({ type: 'clear_timer', name });
    const inDoubt = this.state.question.status === 'deferring';
    this.useQuestion(stepQuestion(this.state.question, { type: 'agent_exited' }));
    // Whether the run ended with a question is seen in the transcript first.
    if (!inDoubt) this.useRuns(stepRun(this.state.runs, { type: 'agent_exited', reason }));
  }

  deferredChecked(found: boolean) {
    const { question } = this.state;
    if (question.status !== 'deferring') return;
    const { toolCallId } = question.call;
    if (found) {
      return this.endTurn({
        type: 'turn_result',
        ok: true,
        deferred: { toolCallId, toolName: '' },
        poisoned: false,
        unknownSession: false,
        toolUnavailable: false,
        empty: false,
      });
    }
    this.useQuestion(stepQuestion(question, { type: 'turn_ended' }));
    const reason = 'The agent ended while it asked a question; the question was not put.';
    this.useRuns(stepRun(this.state.runs, { type: 'agent_exited', reason }));
  }

  endAgent() {
    switch (this.state.agent) {
      case 'live':
        this.set({ agent: 'ending' });
        return this.push({ type: 'end_agent' });
      case 'absent':
        return this.useQuestion(stepQuestion(this.state.question, { type: 'agent_exited' }));
      case 'ending':
        return;
      default:
        return assertNever(this.state.agent);
    }
  }

  // ---- hooks and permissions --------------------------------------------------------------

  parkedFired(toolCallId: string, fire: Fire) {
    const before = this.state.question;
    this.push({ type: 'clear_timer', name: 'hook_silent' });
    if (before.status === 'none' || before.status === 'deferring') {
      return this.push({ type: 'reply', fire, reply: { type: 'deny', reason: ASK_AGAIN } });
    }
    this.useQuestion(stepQuestion(before, { type: 'fired', toolCallId, fire }));
  }

  permissionAsked(asked: {
    readonly requestId: string;
    readonly toolCallId: string;
    readonly toolName: string;
    readonly isQuestion: boolean;
  }) {
    const { requestId, toolCallId, toolName } = asked;
    if (!asked.isQuestion) return this.push({ type: 'allow_tool', requestId, toolName });
    const fire: Fire = { fireId: requestId, channel: 'permission' };
    const { question } = this.state;
    const parked = question.status === 'answering' || question.status === 'attending';
    if (parked && question.call.toolCallId === toolCallId) return this.parkedFired(toolCallId, fire);
    const misses = this.state.hookMisses + 1;
    this.set({ hookMisses: misses });
    this.push({ type: 'reply', fire, reply: { type: 'deny', reason: ASK_AGAIN } });
    if (misses === 1) {
      const message =
        'A question of the agent came past our hook and could not be kept. The agent is told to ask again.';
      return this.notice('warning', 'hook_unhealthy', message, toolCallId);
    }
    const message = 'Questions of the agent keep coming past our hook. The run is stopped: check hooks and settings.';
    this.notice('error', 'hook_unhealthy', message, toolCallId);
    this.useRuns(stepRun(this.state.runs, { type: 'interrupt' }));
  }

  // ---- commands ---------------------------------------------------------------------------

  prompt(promptId: string, text: string) {
    const { question, runs } = this.state;
    if (isPromptKnown(runs, promptId) || this.carriesPrompt(promptId)) return;
    const started = runs.started.find((one) => one.promptId === promptId);
    if (started) return this.tellAgain(started.promptId, started.runId);
    this.set({ paused: false });
    const { state, effects } = stepQuestion(question, { type: 'prompt', promptId, text });
    this.useQuestion({ state, effects });
    if (this.carriesPrompt(promptId)) return;
    this.useRuns(stepRun(this.state.runs, { type: 'enqueue', promptId, text }));
    this.finish();
    if (!this.state.runs.queue.some((prompt) => prompt.promptId === promptId)) return;
    this.emit({ type: 'prompt_queued', prompt_id: promptId, summary: summarizePrompt(text) });
  }

  /** Redelivered although its run was reported: say so again, and do nothing else. */
  private tellAgain(promptId: string, runId: string) {
    const { turn } = this.state.runs;
    this.emit({ type: 'run_started', run_id: runId, prompt_id: promptId });
    if (turn.status === 'running' && turn.runId === runId) return;
    this.emit({ type: 'run_completed', run_id: runId, ok: true });
  }

  private carriesPrompt(promptId: string): boolean {
    const { question } = this.state;
    const verdict = question.status === 'answering' || question.status === 'parking' ? question.verdict : undefined;
    return verdict !== undefined && 'promptId' in verdict && verdict.promptId === promptId;
  }

  answer(toolCallId: string, answers: Answers) {
    const { question } = this.state;
    if (this.tellConsumed(toolCallId)) return;
    if (question.status === 'none' || question.call.toolCallId !== toolCallId) {
      const message = 'An answer came for a question that is not open here. It was not given to the agent.';
      return this.notice('warning', 'answer_stale', message, toolCallId);
    }
    if (!isUsableAnswer(question.call.questions, answers)) {
      const message = 'An answer without any content came for this question. It was not given to the agent.';
      return this.notice('error', 'answer_failed', message, toolCallId);
    }
    this.set({ paused: false });
    this.useQuestion(stepQuestion(question, { type: 'answer', toolCallId, answers }));
  }

  dismiss(toolCallId: string, reason: string) {
    if (this.tellConsumed(toolCallId)) return;
    this.set({ paused: false });
    this.useQuestion(stepQuestion(this.state.question, { type: 'dismiss', toolCallId, reason }));
  }

  private tellConsumed(toolCallId: string): boolean {
    const consumed = this.state.consumed.find((call) => call.toolCallId === toolCallId);
    if (consumed) this.emit(consumed.event);
    return consumed !== undefined;
  }

  reconcile(open: readonly OpenQuestion[], closed: readonly string[]) {
    for (const toolCallId of closed) {
      this.useQuestion(stepQuestion(this.state.question, { type: 'closed_elsewhere', toolCallId }));
    }
    const { question } = this.state;
    if (question.status !== 'none') {
      const { toolCallId } = question.call;
      const known = open.some((one) => one.tool_call_id === toolCallId) || closed.includes(toolCallId);
      if (!known) this.useQuestion(stepQuestion(question, { type: 'unknown_elsewhere' }));
    }
    for (const one of open) this.adopt(one);
  }

  /** The log has an open question that this harness never knew: its files are older than the log. */
  private adopt({ tool_call_id: toolCallId, questions }: OpenQuestion) {
    const { question, agent } = this.state;
    if (question.status !== 'none' || agent !== 'absent' || this.isConsumed(toolCallId)) return;
    const call: ParkedCall = { toolCallId, runId: this.runId, questions };
    this.useQuestion(stepQuestion(this.state.question, { type: 'adopted', call }));
  }

  pause() {
    this.set({ paused: true, idle: false });
    if (this.state.agent === 'live') this.endAgent();
  }

  // ---- what is told -----------------------------------------------------------------------

  private delivered(call: ParkedCall, verdict: Verdict, runId: string) {
    const promptId = 'promptId' in verdict ? verdict.promptId : undefined;
    const summary = 'text' in verdict ? summarizePrompt(verdict.text) : undefined;
    this.emit({
      type: 'run_started',
      run_id: runId,
      ...(summary === undefined ? {} : { prompt_summary: summary }),
      ...(promptId === undefined ? {} : { prompt_id: promptId }),
    });
    const event = toProof(call, verdict, runId);
    this.emit(event);
    const consumed = [...this.state.consumed, { toolCallId: call.toolCallId, event }].slice(-CONSUMED_KEPT);
    this.set({ consumed });
    this.push({ type: 'clear_timer', name: 'hook_silent' });
    this.push({ type: 'clear_timer', name: 'hold' });
    const opened = { type: 'open_run', runId, ...(promptId === undefined ? {} : { promptId }) } as const;
    this.useRuns(stepRun(this.state.runs, opened));
  }

  noteQuestionTool(present: boolean) {
    if (present === !this.state.questionToolMissing) return;
    this.set({ questionToolMissing: !present });
    if (present) return;
    const message = 'The agent has no tool to ask questions with. It will go on without asking.';
    this.notice('warning', 'question_tool_missing', message);
  }

  tellPolicy() {
    if (this.state.policyTold) return;
    this.set({ policyTold: true });
    this.notice('info', 'permission_policy', PERMISSION_POLICY);
  }

  private notice(level: 'info' | 'warning' | 'error', code: string, message: string, toolCallId?: string) {
    const { turn } = this.state.runs;
    this.emit({
      type: 'notice',
      level,
      code,
      message,
      ...(turn.status === 'running' ? { run_id: turn.runId } : {}),
      ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    });
  }

  currentPromptId(): string | undefined {
    return currentPromptId(this.state.runs.turn);
  }
}

function toProof(call: ParkedCall, verdict: Verdict, runId: string): HarnessEvent {
  const ids = { run_id: runId, tool_call_id: call.toolCallId };
  switch (verdict.type) {
    case 'answer':
      return { type: 'question_answered', ...ids, answers: verdict.answers };
    case 'superseded':
      return { type: 'question_dismissed', ...ids, reason: 'superseded' };
    case 'denied':
    case 'denied_then_prompt':
      return { type: 'question_dismissed', ...ids, reason: verdict.reason };
    default:
      return assertNever(verdict);
  }
}
