import { expect, it } from 'vitest';
import { rehearseSession } from '../src/rehearse.js';

it('goes the whole way of a question: asked, deferred, answered, the run to its end', () => {
  expect(rehearseSession()).toEqual([
    'notice',
    'run_started',
    'user_question',
    'run_completed',
    'run_started',
    'question_answered',
    'agent_message',
    'run_completed',
  ]);
});
