// One event → the bytes of one SSE frame, and the JSON that REST shows for it. The id is our own
// integer, the name obeys a fixed rule, the data is JSON on one line: nothing that an agent wrote
// can begin a line of its own.

import type { StoredEvent } from '@engram/coordinator';
import type { AgentMessageChunk } from '@engram/harness-proto';

/** Names that an EventSource gives a meaning of its own. */
const RESERVED = new Set(['error', 'open', 'message', 'lagged', 'agent_message_chunk']);

/** Letters and underscores only; any other kind travels as `unknown`, its real name stays in the JSON. */
export function eventName(type: string): string {
  return /^[A-Za-z_]{1,64}$/.test(type) && !RESERVED.has(type) ? type : 'unknown';
}

/** `{idx, type, at, …fields}`; a field of a foreign kind never hides our own three. */
export function toEventJson(stored: StoredEvent): string {
  const { idx, at, event } = stored;
  const { type, idx: _idx, at: _at, ...fields } = { idx: undefined, at: undefined, ...event };
  return JSON.stringify({ idx, type, at, ...fields });
}

export function encodeStored(stored: StoredEvent): string {
  return `id: ${stored.idx}\nevent: ${eventName(stored.event.type)}\ndata: ${toEventJson(stored)}\n\n`;
}

/** Without id: a client's cursor does not move by it. */
export function encodeChunk(chunk: AgentMessageChunk): string {
  return `event: agent_message_chunk\ndata: ${JSON.stringify(chunk)}\n\n`;
}

export function encodeLagged(lastEventIdx: number): string {
  return `event: lagged\ndata: ${JSON.stringify({ type: 'lagged', last_event_idx: lastEventIdx })}\n\n`;
}

/** For viewers of a session whose log went with it. */
export function encodeDeleted(idx: number, at: string): string {
  return encodeStored({ idx, at, event: { type: 'session_deleted' } });
}

export const HEARTBEAT = ': heartbeat\n\n';
/** First bytes of a stream: how soon to come back, in ms. */
export const STREAM_HEAD = 'retry: 1000\n\n';
