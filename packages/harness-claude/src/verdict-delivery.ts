// How a verdict reaches the agent: given to the hook of the resumed call, or sent as a message when
// that way does not work, proven by the stream or the conversation's file, and given once more when
// its process was lost before the model went on. Pure: the part of question-core behind `answering`.

import {
  ATTEMPTS_BY_RESUME,
  ATTEMPTS_IN_ALL,
  NO_QUESTION,
  type OpenRun,
  type QuestionEffect,
  type QuestionInput,
  type QuestionState,
  type QuestionStatus,
  type QuestionStep,
  type Route,
} from './question-state.js';

type Of<S extends QuestionStatus> = Extract<QuestionState, { status: S }>;
const stay = (state: QuestionState): QuestionStep => ({ state, effects: [] });
const go = (state: QuestionState, ...effects: QuestionEffect[]): QuestionStep => ({ state, effects });

export function stepAnswering(state: Of<'answering'>, input: QuestionInput): QuestionStep {
  const { call, verdict, again } = state;
  const delivered = (newRunId: string, next: (runId: string) => QuestionState): QuestionStep => {
    const runId = again?.runId ?? newRunId;
    return go(next(runId), { type: 'delivered', call, verdict, runId, ...(again ? { again } : {}) });
  };
  const kept = (): QuestionState => NO_QUESTION;
  const told = (runId: string): QuestionState => ({ status: 'told', call, verdict, runId, attempts: state.attempts });
  switch (input.type) {
    case 'fired':
      if (input.toolCallId !== call.toolCallId) return stay(state);
      // Late, but alive: while the message is not on its way the hook may still carry the verdict.
      if (state.route === 'message') {
        const reason = 'The reply to this question follows in the next message of the user.';
        return go(state, { type: 'reply', fire: input.fire, reply: { type: 'deny', reason } });
      }
      return go(state, { type: 'reply', fire: input.fire, reply: { type: 'verdict', call, verdict } });
    case 'call_result':
      if (input.toolCallId !== call.toolCallId || state.route === 'message') return stay(state);
      return input.carries ? delivered(input.runId, told) : stay({ ...state, route: 'message' });
    case 'message_taken':
      return state.route === 'message' ? delivered(input.runId, kept) : stay(state);
    case 'narrated':
    case 'resume_failed':
      return stay({ ...state, route: 'message' });
    case 'agent_exited': {
      const attempts = state.attempts + 1;
      const route: Route = attempts >= ATTEMPTS_BY_RESUME ? 'message' : state.route;
      const next: Of<'answering'> = { ...state, attempts, route };
      const gaveUp: QuestionEffect[] =
        attempts === ATTEMPTS_IN_ALL ? [{ type: 'give_up', call, ...(again ? { again } : {}) }] : [];
      // The log has it as answered: nobody can send it again.
      if (again && gaveUp.length > 0) return go(NO_QUESTION, ...gaveUp);
      // By message the line's own trace is looked for: see run-core.
      if (state.route === 'message') return go(next, ...gaveUp);
      return go({ ...next, inDoubt: true }, { type: 'check_answer', call, verdict }, ...gaveUp);
    }
    case 'set_aside':
      return again ? go(NO_QUESTION, { type: 'give_up', call, again }) : stay(state);
    case 'interrupt':
      return again ? stay({ ...state, again: { ...again, interrupted: true } }) : stay(state);
    case 'answer_checked':
      if (!state.inDoubt) return stay(state);
      return input.carries ? delivered(input.runId, kept) : stay({ ...state, inDoubt: false });
    case 'answer':
      // Redelivered: a new chance after we gave up, never a second answer.
      return input.toolCallId === call.toolCallId ? stay({ ...state, attempts: 0 }) : stay(state);
    default:
      return stay(state);
  }
}

export function stepTold(state: Of<'told'>, input: QuestionInput): QuestionStep {
  const { call, verdict, runId } = state;
  switch (input.type) {
    case 'heard':
    case 'turn_ended':
      return stay(NO_QUESTION);
    case 'fired':
      if (input.toolCallId !== call.toolCallId) return stay(state);
      return go(state, { type: 'reply', fire: input.fire, reply: { type: 'verdict', call, verdict } });
    case 'agent_exited':
      return go(state, { type: 'check_answer', call, verdict });
    case 'answer_checked': {
      if (input.carries) return stay(NO_QUESTION);
      const attempts = state.attempts + 1;
      const again: OpenRun = { runId, interrupted: false };
      if (attempts >= ATTEMPTS_IN_ALL) return go(NO_QUESTION, { type: 'give_up', call, again });
      const route: Route = attempts >= ATTEMPTS_BY_RESUME ? 'message' : 'resume';
      return stay({ status: 'answering', call, verdict, route, attempts, inDoubt: false, again });
    }
    default:
      return stay(state);
  }
}
