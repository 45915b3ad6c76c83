// The next session state while one input is applied: takes in what the cores decide, says it in
// events, and collects the effects. Pure: a draft lives inside one step of session-core.

import { assertNever, type HarnessEvent } from '@engram/harness-proto';
import { CLOSED_GATE, gateUnreplied } from './defer-gate.js';
import { PERMISSION_POLICY } from './permission-policy.js';
import { summarizePrompt } from './prompt-line.js';
import { stepQuestion } from './question-core.js';
import type { OpenRun, ParkedCall, QuestionStep, Route, Verdict } from './question-state.js';
import { stepRun } from './run-core.js';
import type { LineTrace, RunStep, TurnOutcome } from './run-state.js';
import type { SessionEffect, SessionState, SessionStep } from './session-core.js';
import { finishSession } from './session-pump.js';
import { toRunEnd } from './turn-owner.js';

const CONSUMED_KEPT = 50;
/** An agent that says nothing for so long has not taken our line. */
const LINE_SILENCE_MS = 60_000;

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

  /** A call that is over fires its hook again: its result never got into the transcript. */
  replyAgain(toolCallId: string, fireId: string) {
    const byHook = this.state.consumed.find((call) => call.toolCallId === toolCallId)?.byHook;
    if (!byHook) return this.deny(fireId, 'The reply to this question was given in a message of the user.');
    this.push({ type: 'reply', fire: { fireId, channel: 'hook' }, reply: { type: 'verdict', ...byHook } });
  }

  deny(fireId: string, reason: string) {
    this.push({ type: 'reply', fire: { fireId, channel: 'hook' }, reply: { type: 'deny', reason } });
  }

  // ---- steps of the two cores -------------------------------------------------------------

  useQuestion({ state, effects }: QuestionStep) {
    const before = this.state.question;
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
          this.delivered(
            effect.call,
            effect.verdict,
            effect.runId,
            before.status === 'answering' ? before.route : 'resume',
            effect.again,
          );
          break;
        case 'settled_in_run':
          this.consume(effect.call, toProof(effect.call, effect.verdict, effect.call.runId));
          break;
        case 'overruled': {
          const message = 'Another hook decided about a question of the agent; it was not put to you.';
          this.notice('warning', 'question_withdrawn', message, effect.call.toolCallId);
          break;
        }
        case 'give_up':
          this.notice(
            'error',
            'answer_failed',
            'The reply to this question did not reach the agent.',
            effect.call.toolCallId,
          );
          if (effect.again) this.endOpenRun(effect.again);
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
  settleRun(trace: LineTrace) {
    const { turn } = this.state.runs;
    if (trace === 'finished') return this.turnOver('ok');
    if (turn.status === 'running' && turn.interrupting) {
      this.push({ type: 'clear_timer', name: 'interrupt' });
      return this.turnOver('interrupted');
    }
    this.useRuns(stepRun(this.state.runs, { type: 'run_cut' }));
  }

  answerChecked(trace: LineTrace, carries: boolean) {
    const before = this.state.question;
    if (before.status !== 'answering' && before.status !== 'told') return;
    this.useQuestion(stepQuestion(before, { type: 'answer_checked', carries, runId: this.runId }));
    if (this.state.question.status === 'none') return this.settleRun(trace);
    if (before.status === 'told') this.useRuns(stepRun(this.state.runs, { type: 'run_suspended' }));
  }

  /** `turn_shown`: by more than its first words. */
  turnGoesOn(type: 'turn_began' | 'turn_shown') {
    // What the model says past its parked question opens no run.
    if (this.state.question.status === 'parking') return;
    this.useQuestion(stepQuestion(this.state.question, { type: 'heard' }));
    this.useRuns(stepRun(this.state.runs, { type, runId: this.runId }));
  }

  /** A run that is to stop is not taken up again, even if its answer may not be kept. */
  dropTold() {
    const { question, runs, paused } = this.state;
    const stops = paused || (runs.turn.status === 'running' && runs.turn.interrupting);
    if (question.status === 'told' && stops) this.useQuestion(stepQuestion(question, { type: 'turn_ended' }));
  }

  /** Nothing is started any more: a run that would go on in a new process is over. True when there was one. */
  endSuspended(): boolean {
    const { question, runs } = this.state;
    if (runs.cut) {
      const { cut, ...rest } = runs;
      this.set({ runs: rest });
      const message = 'The agent was cut off while it worked, and the session was put to rest.';
      this.emit({ type: 'notice', level: 'error', code: 'agent_exited', message, run_id: cut.runId });
      this.emit({ type: 'run_completed', run_id: cut.runId, ok: false });
      return true;
    }
    if (question.status !== 'answering' || !question.again || question.inDoubt) return false;
    this.useQuestion(stepQuestion(question, { type: 'set_aside' }));
    return true;
  }

  private endOpenRun({ runId, interrupted }: OpenRun) {
    const { turn } = this.state.runs;
    const outcome = interrupted ? 'interrupted' : 'failed';
    if (turn.status === 'running' && turn.runId === runId) this.turnOver(outcome);
    else this.emit(toRunEnd(runId, outcome));
  }

  /** The watchdog of a verdict's line that is not taken yet starts anew. */
  awaitLine() {
    const { turn } = this.state.runs;
    if (turn.status !== 'sent' || turn.line.type !== 'verdict') return;
    this.push({ type: 'set_timer', name: 'hook_silent', ms: LINE_SILENCE_MS });
  }

  releaseGate(reason: string) {
    for (const fire of gateUnreplied(this.state.gate)) this.deny(fire.fireId, reason);
    this.set({ gate: CLOSED_GATE });
    this.push({ type: 'clear_timer', name: 'gate' });
    this.push({ type: 'clear_timer', name: 'blocked' });
  }

  turnOver(outcome: TurnOutcome) {
    this.useRuns(stepRun(this.state.runs, { type: 'turn_over', outcome }));
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

  pause() {
    this.set({ paused: true, idle: false });
    if (this.state.agent === 'live') this.endAgent();
  }

  // ---- what is told -----------------------------------------------------------------------

  private delivered(call: ParkedCall, verdict: Verdict, runId: string, route: Route, again: OpenRun | undefined) {
    const promptId = 'promptId' in verdict ? verdict.promptId : undefined;
    if (!again) {
      const summary = 'text' in verdict ? summarizePrompt(verdict.text) : undefined;
      this.emit({
        type: 'run_started',
        run_id: runId,
        ...(summary === undefined ? {} : { prompt_summary: summary }),
        ...(promptId === undefined ? {} : { prompt_id: promptId }),
      });
      this.consume(call, toProof(call, verdict, runId), route === 'resume' ? verdict : undefined);
    }
    this.push({ type: 'clear_timer', name: 'hook_silent' });
    this.push({ type: 'clear_timer', name: 'hold' });
    const opened = { type: 'open_run', runId, ...(promptId === undefined ? {} : { promptId }) } as const;
    this.useRuns(stepRun(this.state.runs, opened));
    if (again?.interrupted) this.useRuns(stepRun(this.state.runs, { type: 'interrupt' }));
  }

  /** The call is over for good; its last event is kept for redeliveries. */
  private consume(call: ParkedCall, event: HarnessEvent, hookVerdict?: Verdict) {
    this.emit(event);
    const over = {
      toolCallId: call.toolCallId,
      event,
      ...(hookVerdict ? { byHook: { call, verdict: hookVerdict } } : {}),
    };
    this.set({ consumed: [...this.state.consumed, over].slice(-CONSUMED_KEPT) });
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

  notice(level: 'info' | 'warning' | 'error', code: string, message: string, toolCallId?: string) {
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
