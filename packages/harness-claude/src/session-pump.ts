// What a session owes and may do now: start the agent, hand it a line, tell that it is idle. Pure,
// and asked after every input, so that nothing depends on which input made a step possible.

import { stepQuestion } from './question-core.js';
import { ATTEMPTS_IN_ALL } from './question-state.js';
import { stepRun } from './run-core.js';
import type { SessionState } from './session-core.js';
import type { SessionDraft } from './session-draft.js';

export function finishSession(draft: SessionDraft) {
  for (let moved = true; moved; ) moved = pumpOnce(draft);
  tellIdle(draft);
}

/** One thing that is due; false when nothing is. */
function pumpOnce(draft: SessionDraft): boolean {
  const { question, runs, agent, paused } = draft.state;
  if (agent === 'ending' || runs.turn.status !== 'none') return false;
  if (paused) return agent === 'absent' && draft.endSuspended();
  switch (question.status) {
    case 'answering': {
      if (question.attempts >= ATTEMPTS_IN_ALL || question.inDoubt) return false;
      if (question.route === 'resume') {
        if (agent === 'live') return false;
        if (draft.state.claudeSessionId === undefined) {
          draft.useQuestion(stepQuestion(question, { type: 'resume_failed' }));
          return true;
        }
        startAgent(draft);
        draft.push({ type: 'set_timer', name: 'hook_silent' });
        return true;
      }
      if (agent === 'absent') startAgent(draft);
      draft.useRuns(stepRun(runs, { type: 'send_verdict', toolCallId: question.call.toolCallId }));
      draft.awaitLine();
      return true;
    }
    case 'attending':
      if (agent === 'live') return false;
      startAgent(draft);
      draft.push({ type: 'set_timer', name: 'hook_silent' });
      return true;
    case 'denial_owed':
    case 'none': {
      if (runs.cut) {
        if (agent === 'absent') startAgent(draft);
        draft.useRuns(stepRun(runs, { type: 'send_continuation' }));
        return true;
      }
      const [head, ...queue] = runs.queue;
      if (!head) return false;
      if (question.status === 'denial_owed' && !head.continues) {
        draft.set({ runs: { ...runs, queue } });
        draft.useQuestion(stepQuestion(question, { type: 'prompt', promptId: head.promptId, text: head.text }));
        return true;
      }
      if (agent === 'absent') startAgent(draft);
      draft.useRuns(stepRun(runs, { type: 'send_next' }));
      return true;
    }
    case 'held':
    case 'deferring':
    case 'parking':
    case 'waiting':
    case 'told':
      return false;
  }
}

function startAgent(draft: SessionDraft) {
  const { claudeSessionId } = draft.state;
  draft.set({ agent: 'live' });
  draft.tellPolicy();
  draft.push({ type: 'start_agent', ...(claudeSessionId === undefined ? {} : { resume: claudeSessionId }) });
}

function isIdle({ question, runs, agent, settled, paused }: SessionState): boolean {
  if (!settled || agent === 'ending' || runs.turn.status !== 'none') return false;
  switch (question.status) {
    case 'none':
    case 'denial_owed':
      return (runs.queue.length === 0 && runs.cut === undefined) || paused;
    case 'waiting':
      return true;
    case 'answering':
      return paused || question.attempts >= ATTEMPTS_IN_ALL;
    case 'held':
    case 'deferring':
    case 'parking':
    case 'attending':
    case 'told':
      return false;
  }
}

function tellIdle(draft: SessionDraft) {
  const idle = isIdle(draft.state);
  if (idle && !draft.state.idle) draft.emit({ type: 'harness_idle' });
  draft.set({ idle });
}
