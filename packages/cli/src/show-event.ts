// Prints one event: as it came with --json, else as the renderer says.

import type { ApiEvent } from './api-events.js';
import type { Output } from './output.js';
import { colourPaint, plainPaint } from './paint.js';
import { renderEvent } from './render-event.js';

export function showEvent(event: ApiEvent, sessionId: string, output: Output): void {
  const paint = output.colours ? colourPaint : plainPaint;
  output.result(event, output.json ? [] : renderEvent(event, { sessionId, paint }));
}
