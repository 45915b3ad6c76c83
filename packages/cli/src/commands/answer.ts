// `engram answer <session> [tool_call_id]`: by flags, one for each question in order, or asked at the
// terminal. Several waiting questions in one session need the tool call's id.

import { createInterface } from 'node:readline/promises';
import type { AwaitingQuestion, Session } from '@engram/coordinator';
import { type Choice, parseTyped, toAnswers } from '../answer-choices.js';
import { type ApiClient, ApiRefusal } from '../api-client.js';
import { CliError } from '../cli-error.js';
import type { Output } from '../output.js';
import { renderQuestion } from '../render-event.js';
import { toRenderContext } from '../show-event.js';

export async function answer(
  api: ApiClient,
  output: Output,
  sessionId: string,
  toolCallId: string | undefined,
  choices: readonly Choice[],
): Promise<number> {
  const session = await api.getSession(sessionId);
  const waiting = findWaiting(session, toolCallId);
  const chosen = choices.length > 0 ? choices : await askAtTerminal(api, output, sessionId, waiting);
  const answers = toAnswers(waiting.questions, chosen);
  const state = await api.answer(sessionId, waiting.tool_call_id, answers);
  output.result({ tool_call_id: waiting.tool_call_id, state }, [
    state === 'answered' ? 'answered' : 'stored; the agent gets it as soon as it is awake',
  ]);
  return 0;
}

function findWaiting(session: Session, toolCallId: string | undefined): AwaitingQuestion {
  const found =
    toolCallId === undefined ? session.awaiting : session.awaiting.filter((each) => each.tool_call_id === toolCallId);
  const [first, second] = found;
  if (first === undefined) {
    throw new CliError('bad_answer', 'No question waits here.', 'see what waits with `npm run engram -- pending`');
  }
  if (second !== undefined) {
    const ids = found.map((each) => each.tool_call_id).join(', ');
    throw new CliError('bad_answer', 'Several questions wait in this session.', `name one of them: ${ids}`);
  }
  return first;
}

async function askAtTerminal(
  api: ApiClient,
  output: Output,
  sessionId: string,
  waiting: AwaitingQuestion,
): Promise<readonly Choice[]> {
  if (process.stdin.isTTY !== true || output.json) {
    throw new CliError(
      'bad_answer',
      'There is no terminal to ask at.',
      'give one --choose <numbers> or --text "…" for each question',
    );
  }
  // The session may wake while the person types; an older server or a busy host just does not.
  await api.attend(sessionId, waiting.tool_call_id).catch((error: unknown) => {
    if (!(error instanceof ApiRefusal)) throw error;
  });
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const choices: Choice[] = [];
    for (const question of waiting.questions) {
      const [...lines] = renderQuestion(waiting.tool_call_id, [question], toRenderContext(sessionId, output)).slice(
        0,
        -1,
      );
      process.stderr.write(`${lines.join('\n')}\n`);
      const line = await terminal.question(
        question.multi_select ? 'numbers or your own words: ' : 'number or your own words: ',
      );
      choices.push(parseTyped(line, question));
    }
    return choices;
  } finally {
    terminal.close();
  }
}
