// The agent's side of the story that the end-to-end tests tell: it writes a file, changes it, asks,
// and goes on according to the answer.

import { type Scenario, type ToolResult, text, tool } from '@engram/demo-model';

export const QUESTION = 'Which greeting should the program use?';

export const STORY: Scenario = (context) => {
  const file = `${context.workspace}/greeting.txt`;
  return [
    {
      blocks: [text('I start with a first draft.'), tool('Write', { file_path: file, content: 'hello\nworld\n' })],
    },
    { blocks: [tool('Edit', { file_path: file, old_string: 'world', new_string: 'everybody' })] },
    {
      blocks: [
        text('One thing is yours to decide.'),
        tool('AskUserQuestion', {
          questions: [
            {
              question: QUESTION,
              header: 'Greeting',
              multiSelect: false,
              options: [
                { label: 'Formal', description: 'Good day' },
                { label: 'Warm, friendly', description: 'Hi there' },
              ],
            },
          ],
        }),
      ],
    },
    (turn) => ({
      blocks: [tool('Write', { file_path: file, content: `chosen: ${told(turn.results)}\nhello\neverybody\n` })],
    }),
    { blocks: [text('The greeting is in place.')] },
  ];
};

/** What the model can know of the answer: the text of the question's result. */
function told(results: readonly ToolResult[]): string {
  return results
    .map((result) => result.content)
    .join(' ')
    .includes('Warm, friendly')
    ? 'warm'
    : 'other';
}
