// One event → one SSE frame around the JSON that REST shows as well. The id is our own integer, the
// name obeys a fixed rule, the data is JSON on one line: nothing that an agent wrote can begin a
// line of its own.

import type { EventText } from '@engram/coordinator';
import type { AgentMessageChunk } from '@engram/harness-proto';

/** Names that an EventSource gives a meaning of its own. */
const RESERVED = new Set(['error', 'open', 'message', 'lagged', 'agent_message_chunk']);

/** Letters and underscores only; any other kind travels as `unknown`, its real name stays in the JSON. */
export function eventName(type: string): string {
  return /^[A-Za-z_]{1,64}$/.test(type) && !RESERVED.has(type) ? type : 'unknown';
}

export function encodeEvent({ idx, kind, json }: EventText): string {
  return `id: ${idx}\nevent: ${eventName(kind)}\ndata: ${json}\n\n`;
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
  return encodeEvent({ idx, kind: 'session_deleted', json: JSON.stringify({ idx, type: 'session_deleted', at }) });
}

export const HEARTBEAT = ': heartbeat\n\n';
/** First bytes of a stream: how soon to come back, in ms. */
export const STREAM_HEAD = 'retry: 1000\n\n';
