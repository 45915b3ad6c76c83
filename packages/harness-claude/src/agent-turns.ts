// What the agent's stream, hooks and requests mean for the question, the runs and the gate together.
// Pure: works on the draft of one step of session-core.

import { assertNever } from '@engram/harness-proto';
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
  type HeldFire,
} from './defer-gate.js';
import { followDenials, LAUNCH_DENIALS_MAX } from './launch-denials.js';
import { lineUuid } from './prompt-line.js';
import { stepQuestion } from './question-core.js';
import { clashes, joinQuestionInputs, parseQuestionInput } from './question-input.js';
import type { Fire, ParkedCall } from './question-state.js';
import { stepRun } from './run-core.js';
import type { SessionInput, TurnResult } from './session-core.js';
import type { SessionDraft } from './session-draft.js';
import { noteTaken } from './taken-lines.js';
import { cutText } from './text-caps.js';
import { verdictCarried } from './verdict-proof.js';

const DENIAL_BYTES = 500;

const ASK_ALONE =
  'The user has not seen this question: the other calls of your message wait for it. Ask it again, alone, when they are done.';
const ASK_APART =
  'The user has not seen this question: another one of your message has the same words. Ask it again, alone, after the other is answered.';
const ASK_AGAIN = 'The question could not be shown to the user. Ask it again.';

export function messageStarted(draft: SessionDraft, messageId: string) {
  const { question, runs, gate } = draft.state;
  const isNew = gate.messageId !== messageId;
  const past =
    question.status === 'deferring' ||
    question.status === 'parking' ||
    (question.status === 'answering' && runs.turn.status === 'none');
  if (isNew && past) {
    draft.useQuestion(stepQuestion(question, { type: 'narrated' }));
  }
  draft.set({ gate: gateMessageStarted(gate, messageId) });
  draft.turnGoesOn('turn_began');
  if (isNew) draft.awaitLine();
}

/** The agent begins a turn with this line of ours. */
export function lineTaken(draft: SessionDraft, uuid: string) {
  const { turn } = draft.state.runs;
  const line = turn.status === 'sent' ? turn.line : turn.status === 'running' ? turn.behind : undefined;
  if (!line || lineUuid(line) !== uuid) return;
  if (line.type === 'verdict') draft.push({ type: 'clear_timer', name: 'hook_silent' });
  draft.useRuns(stepRun(draft.state.runs, { type: 'line_taken', runId: draft.runId }));
  const { turn: now } = draft.state.runs;
  if (now.status === 'running') draft.set({ taken: noteTaken(draft.state.taken, { uuid, runId: now.runId }) });
}

export function callSeen(draft: SessionDraft, messageId: string, toolCallId: string, order: CallOrder) {
  // Streamed calls come before the echo on some versions.
  draft.turnGoesOn('turn_began');
  draft.set({ gate: gateCallSeen(draft.state.gate, messageId, toolCallId, order) });
  tryGate(draft);
}

export function callResult(draft: SessionDraft, toolCallId: string, isError: boolean, text: string) {
  const { question } = draft.state;
  const verdict = question.status === 'answering' || question.status === 'held' ? question.verdict : undefined;
  const carries =
    question.status !== 'none' && verdict !== undefined && verdictCarried(question.call, verdict, isError, text);
  draft.useQuestion(stepQuestion(question, { type: 'call_result', toolCallId, carries, runId: draft.runId }));
  countDenial(draft, isError, text);
}

function countDenial(draft: SessionDraft, isError: boolean, text: string) {
  const denials = followDenials(draft.state.denials, isError, text);
  const enough = denials?.count === LAUNCH_DENIALS_MAX;
  draft.set({ denials: enough ? undefined : denials });
  if (!enough) return;
  const { text: words } = cutText(denials.words, DENIAL_BYTES);
  const message = `A hook of the workspace or the user refuses every call of the agent. The run is stopped: mend that hook or take it out of the settings. It says: ${words}`;
  draft.notice('error', 'hook_unhealthy', message);
  draft.useRuns(stepRun(draft.state.runs, { type: 'interrupt' }));
}

export function tryGate(draft: SessionDraft) {
  const { gate } = draft.state;
  const decision = decideGate(gate);
  switch (decision.type) {
    case 'wait':
      return;
    case 'deny_blocking':
      for (const fire of decision.fires) {
        draft.deny(fire.fireId, ASK_ALONE);
        const message =
          'The agent asked a question with changes behind it in one go. It is told to ask again afterwards.';
        draft.notice('info', 'question_withdrawn', message, fire.toolCallId);
      }
      return draft.set({ gate: gateDropped(gate, decision.fires) });
    case 'deny_siblings': {
      const { together, apart } = splitSiblings(decision.fires, decision.stays);
      for (const fire of together) draft.deny(fire.fireId, SIBLING_DENIAL);
      for (const fire of apart) {
        draft.deny(fire.fireId, ASK_APART);
        const message =
          'The agent asked two different questions with the same words. It is told to ask one of them again afterwards.';
        draft.notice('info', 'question_withdrawn', message, fire.toolCallId);
      }
      return draft.set({ gate: gateDropped(gateDenied(gate, together), apart) });
    }
    case 'defer': {
      draft.set({ gate: gateFireLost(gate, decision.fire.fireId) });
      const call = toCall(draft, decision.fire, decision.siblings);
      if (!call) return draft.deny(decision.fire.fireId, 'The question has no text that can be shown. Ask it again.');
      const { fireId } = decision.fire;
      return draft.useQuestion(stepQuestion(draft.state.question, { type: 'gate_opened', call, fireId }));
    }
    default:
      return assertNever(decision);
  }
}

/** Which questions can stand on the card of the one that stays, and which must be asked again. */
function splitSiblings(fires: readonly HeldFire[], stays: HeldFire) {
  const onCard = [parseQuestionInput(stays.input)].filter((one) => one !== undefined);
  const together: HeldFire[] = [];
  const apart: HeldFire[] = [];
  for (const fire of fires) {
    const parsed = parseQuestionInput(fire.input);
    if (!parsed || onCard.some((one) => clashes(one, parsed))) {
      apart.push(fire);
    } else {
      onCard.push(parsed);
      together.push(fire);
    }
  }
  return { together, apart };
}

/** On the card the questions stand in the message's order. */
function toCall(draft: SessionDraft, fire: HeldFire, siblings: readonly HeldFire[]): ParkedCall | undefined {
  const parsed = [...siblings, fire].map((one) => parseQuestionInput(one.input)).filter((one) => one !== undefined);
  if (parsed.length === 0) return undefined;
  const card = joinQuestionInputs(parsed);
  const { turn } = draft.state.runs;
  return {
    toolCallId: fire.toolCallId,
    runId: turn.status === 'running' ? turn.runId : draft.runId,
    questions: card.questions,
    ...(card.option_previews ? { optionPreviews: card.option_previews } : {}),
    input: fire.input,
  };
}

export function turnResult(draft: SessionDraft, result: TurnResult) {
  const { turn } = draft.state.runs;
  if (result.unknownSession) return sessionUnknown(draft);
  if (turn.status === 'none') return resultOutsideRun(draft, result);
  if (turn.status !== 'running') {
    // The CLI reports on a transcript it mended before it reads our line.
    if (result.empty) return;
    draft.turnGoesOn('turn_shown');
    // A turn of its own that a resumed agent made before it read the verdict's line.
    if (draft.state.runs.turn.status === 'sent') return draft.awaitLine();
  }
  endTurn(draft, result);
}

function endTurn(draft: SessionDraft, result: TurnResult) {
  const { turn } = draft.state.runs;
  const interrupted = turn.status === 'running' && turn.interrupting;
  const { question } = draft.state;
  draft.push({ type: 'clear_timer', name: 'interrupt' });
  draft.releaseGate(ASK_AGAIN);
  const { deferred } = result;
  if (deferred && question.status === 'deferring' && question.call.toolCallId === deferred.toolCallId) {
    const { poisoned } = result;
    draft.useQuestion(
      stepQuestion(question, { type: 'turn_deferred', toolCallId: deferred.toolCallId, interrupted, poisoned }),
    );
    return draft.turnOver(interrupted ? 'interrupted' : 'ok');
  }
  draft.useQuestion(stepQuestion(question, { type: 'turn_ended' }));
  if (deferred) {
    const message = `A hook of yours put off a call of ${deferred.toolName}; nobody can take it up again. The run ends here.`;
    draft.notice('warning', 'foreign_deferral', message, deferred.toolCallId);
    draft.turnOver(interrupted ? 'interrupted' : 'failed');
    return draft.endAgent();
  }
  draft.turnOver(interrupted ? 'interrupted' : result.ok ? 'ok' : 'failed');
}

function resultOutsideRun(draft: SessionDraft, result: TurnResult) {
  const { question } = draft.state;
  if (result.deferred) {
    const { toolCallId } = result.deferred;
    const again = { type: 'turn_deferred', toolCallId, interrupted: false, poisoned: result.poisoned } as const;
    return draft.useQuestion(stepQuestion(question, again));
  }
  if (result.toolUnavailable) draft.useQuestion(stepQuestion(question, { type: 'resume_failed' }));
}

function sessionUnknown(draft: SessionDraft) {
  const { claudeSessionId: _gone, ...rest } = draft.state;
  draft.state = rest;
  draft.notice('error', 'context_lost', 'The agent does not know draft conversation any more and starts a new one.');
  draft.useQuestion(stepQuestion(draft.state.question, { type: 'resume_failed' }));
  draft.useRuns(stepRun(draft.state.runs, { type: 'take_back' }));
  draft.endAgent();
}

/** A process that was killed may have forgotten what it had not written. */
export function checkTaken(draft: SessionDraft) {
  const { taken } = draft.state;
  if (taken !== undefined) draft.push({ type: 'check_taken', lines: taken });
}

export function agentExited(draft: SessionDraft, reason: string, clean: boolean) {
  if (clean) draft.set({ taken: undefined });
  else checkTaken(draft);
  draft.set({ agent: 'absent', gate: CLOSED_GATE });
  for (const name of ['hook_silent', 'hold', 'interrupt', 'gate', 'blocked'] as const)
    draft.push({ type: 'clear_timer', name });
  draft.dropTold();
  const { status } = draft.state.question;
  draft.useQuestion(stepQuestion(draft.state.question, { type: 'agent_exited' }));
  // Whether the run ended with a question, or before the answer was kept, is seen in the transcript first.
  if (status !== 'deferring' && status !== 'told')
    draft.useRuns(stepRun(draft.state.runs, { type: 'agent_exited', reason }));
}

export function deferredChecked(draft: SessionDraft, found: boolean) {
  const { question } = draft.state;
  if (question.status !== 'deferring') return;
  const { toolCallId } = question.call;
  if (found) {
    return endTurn(draft, {
      type: 'turn_result',
      ok: true,
      deferred: { toolCallId, toolName: '' },
      poisoned: false,
      unknownSession: false,
      toolUnavailable: false,
      empty: false,
    });
  }
  draft.useQuestion(stepQuestion(question, { type: 'turn_ended' }));
  const reason = 'The agent ended while it asked a question; the question was not put.';
  draft.useRuns(stepRun(draft.state.runs, { type: 'agent_exited', reason }));
}

export function parkedFired(draft: SessionDraft, toolCallId: string, fire: Fire) {
  const before = draft.state.question;
  draft.push({ type: 'clear_timer', name: 'hook_silent' });
  if (before.status === 'none' || before.status === 'deferring') {
    return draft.push({ type: 'reply', fire, reply: { type: 'deny', reason: ASK_AGAIN } });
  }
  draft.useQuestion(stepQuestion(before, { type: 'fired', toolCallId, fire }));
}

export function permissionAsked(draft: SessionDraft, asked: Extract<SessionInput, { type: 'permission_asked' }>) {
  const { requestId, toolCallId, toolName } = asked;
  if (!asked.isQuestion) return draft.push({ type: 'allow_tool', requestId, toolName });
  const fire: Fire = { fireId: requestId, channel: 'permission' };
  const { question } = draft.state;
  const parked = question.status === 'answering' || question.status === 'attending';
  if (parked && question.call.toolCallId === toolCallId) return parkedFired(draft, toolCallId, fire);
  const misses = draft.state.hookMisses + 1;
  draft.set({ hookMisses: misses });
  const call = toCall(draft, { fireId: requestId, toolCallId, input: asked.input, denied: false }, []);
  if (misses === 1 && call && question.status === 'none') {
    const message = 'A question of the agent came past our hook. It is held open for a while; it cannot wait longer.';
    draft.notice('warning', 'hook_unhealthy', message, toolCallId);
    return draft.useQuestion(stepQuestion(question, { type: 'held', call, fire, holdMs: asked.holdMs }));
  }
  draft.push({ type: 'reply', fire, reply: { type: 'deny', reason: ASK_AGAIN } });
  const message = 'Questions of the agent keep coming past our hook. The run is stopped: check hooks and settings.';
  draft.notice('error', 'hook_unhealthy', message, toolCallId);
  draft.useRuns(stepRun(draft.state.runs, { type: 'interrupt' }));
}
