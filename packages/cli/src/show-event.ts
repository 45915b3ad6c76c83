// Prints the events of one session, one after another: as they came with --json, else as the renderer says.

import type { ApiEvent } from './api-events.js';
import type { Output } from './output.js';
import { colourPaint, plainPaint } from './paint.js';
import { type RenderContext, renderEvent } from './render-event.js';

export function createEventPrinter(sessionId: string, output: Output): (event: ApiEvent) => void {
  const context = toRenderContext(sessionId, output);
  let before = '';
  return (event) => {
    // A turn that ends because a question waits is not done.
    const parked = event.type === 'run_completed' && before === 'user_question';
    before = event.type;
    output.result(event, output.json || parked ? [] : renderEvent(event, context));
  };
}

export function toRenderContext(sessionId: string, output: Output): RenderContext {
  return { sessionId, paint: output.colours ? colourPaint : plainPaint, commandEnd: output.commandEnd };
}
