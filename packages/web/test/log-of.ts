// Builds a log from bare events: idx by position, a fixed time.

import type { KnownEvent, LogEvent } from '../src/api-types.js';
import type { Question } from '../src/wire-types.js';

export const AT = '2030-05-04T12:00:00.000Z';
export const ME = { id: 'local', name: 'you' };

export function logOf(...events: readonly KnownEvent[]): readonly LogEvent[] {
  return events.map((event, at) => ({ idx: at + 1, at: AT, event }));
}

export function choice(question: string, labels: readonly string[], multi = false): Question {
  return {
    question,
    header: question.slice(0, 12),
    multi_select: multi,
    options: labels.map((label) => ({ label, description: '' })),
  };
}

export const DATABASE = choice('Which database?', ['PostgreSQL', 'SQLite']);
export const asked = (tool_call_id: string, run_id = 'r1'): KnownEvent => ({
  type: 'user_question',
  run_id,
  tool_call_id,
  questions: [DATABASE],
});
export const answered = (tool_call_id: string, value = 'PostgreSQL', run_id = 'r2'): KnownEvent => ({
  type: 'question_answered',
  run_id,
  tool_call_id,
  answers: { 'Which database?': [value] },
});
export const submitted = (tool_call_id: string, value = 'PostgreSQL', by = ME): KnownEvent => ({
  type: 'answer_submitted',
  tool_call_id,
  answers: { 'Which database?': [value] },
  by,
});
