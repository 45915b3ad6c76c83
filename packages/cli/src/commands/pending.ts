// `engram pending`: every question that waits for an answer, oldest first, with the command to answer it.

import type { ApiClient } from '../api-client.js';
import type { Output } from '../output.js';
import { colourPaint, plainPaint } from '../paint.js';
import { renderQuestion } from '../render-event.js';
import { toRenderContext } from '../show-event.js';
import { safeLine } from '../terminal-text.js';

export async function pending(api: ApiClient, output: Output): Promise<number> {
  const questions = await api.pending();
  if (output.json) {
    output.result({ questions }, []);
    return 0;
  }
  const paint = output.colours ? colourPaint : plainPaint;
  const lines = questions.flatMap((each) => [
    `${paint.bold(safeLine(each.session_title, 80))} ${paint.dim(`${each.session_id} · asked ${each.asked_at}${each.state === 'waiting' ? '' : ` · ${each.state}`}`)}`,
    ...renderQuestion(each.tool_call_id, each.questions, toRenderContext(each.session_id, output)),
    '',
  ]);
  output.result({ questions }, lines.length > 0 ? lines.slice(0, -1) : ['nothing waits for you']);
  return 0;
}
