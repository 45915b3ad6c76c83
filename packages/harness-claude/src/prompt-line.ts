// What is written to the agent as a user line, and under which uuid. Pure. The uuid follows from
// the prompt's id, so that after a crash the transcript tells whether the agent has the line.

import { createHash } from 'node:crypto';
import type { Line, QueuedPrompt } from './run-state.js';
import { cutText } from './text-caps.js';

const SUMMARY_BYTES = 240;
const NAMESPACE = 'engram:user-line:';

/** A name-based uuid (RFC 9562, version 5 in form) of any text. */
export function toUuid(name: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16);
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export function lineUuid(line: Line): string {
  if (line.type === 'verdict') return toUuid(`verdict:${line.toolCallId}`);
  if (line.type === 'continuation') return toUuid(`continue:${line.run.attempts}:${line.run.runId}`);
  const { promptId, attempts, continues } = line.prompt;
  return toUuid(continues ? `continue:${attempts}:${promptId}` : `prompt:${promptId}`);
}

export const GO_ON = 'You were cut off while you worked. Look at what is already done, and go on from there.';

export function promptText(prompt: QueuedPrompt): string {
  return prompt.continues ? GO_ON : prompt.text;
}

/** The start of a prompt, on one line. */
export function summarizePrompt(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const { text: kept, dropped } = cutText(line, SUMMARY_BYTES);
  return dropped > 0 ? `${kept.trimEnd()}…` : kept;
}

/** One stdin line of stream-json, LF included. */
export function toUserLine(uuid: string, text: string): string {
  const line = { type: 'user', uuid, message: { role: 'user', content: text }, parent_tool_use_id: null };
  return `${JSON.stringify(line)}\n`;
}
