// What the page holds of one session: the log so far and the text that is being streamed.
// Pure: (log, items) → log. An event is kept once, by idx; the full message replaces its chunks. A log
// may begin in the middle: what is before it is read later and put in front.

import type { LogEvent } from './api-types.js';
import type { StreamItem } from './events-client.js';
import type { AgentMessageChunk } from './wire-types.js';

export interface LiveText {
  readonly runId: string;
  readonly messageId: string;
  readonly text: string;
}

export interface SessionLog {
  /** Ascending by idx, each idx once. */
  readonly events: readonly LogEvent[];
  /** The log is held from here on; 1 = nothing is missing before it. */
  readonly firstIdx: number;
  readonly lastIdx: number;
  /** Streamed and not stored yet, in order of first appearance. */
  readonly live: readonly LiveText[];
}

export const EMPTY_LOG: SessionLog = { events: [], firstIdx: 1, lastIdx: 0, live: [] };

/** A log that is known from its end only. */
export function logFromEnd(events: readonly LogEvent[]): SessionLog {
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return EMPTY_LOG;
  return { events, firstIdx: first.idx, lastIdx: last.idx, live: [] };
}

/** Puts events in front that end right before the log; without any, nothing is before it. */
export function withEarlier(log: SessionLog, earlier: readonly LogEvent[]): SessionLog {
  const fitting = earlier.filter(({ idx }) => idx < log.firstIdx);
  return { ...log, events: [...fitting, ...log.events], firstIdx: fitting[0]?.idx ?? 1 };
}

function addChunk(live: readonly LiveText[], chunk: AgentMessageChunk): readonly LiveText[] {
  const at = live.findIndex((l) => l.messageId === chunk.message_id);
  const old = live[at];
  if (old === undefined) {
    return [...live, { runId: chunk.run_id, messageId: chunk.message_id, text: chunk.chunk }];
  }
  return live.with(at, { ...old, text: old.text + chunk.chunk });
}

function settleLive(live: readonly LiveText[], { event }: LogEvent): readonly LiveText[] {
  switch (event.type) {
    case 'agent_message':
      return live.filter((l) => l.messageId !== event.message_id);
    case 'run_completed':
    case 'run_interrupted':
      return live.filter((l) => l.runId !== event.run_id);
    default:
      return live;
  }
}

export function reduceLog(log: SessionLog, items: readonly StreamItem[]): SessionLog {
  let { lastIdx, live } = log;
  const added: LogEvent[] = [];
  for (const item of items) {
    switch (item.type) {
      case 'event':
        if (item.event.idx <= lastIdx) break;
        lastIdx = item.event.idx;
        added.push(item.event);
        live = settleLive(live, item.event);
        break;
      case 'chunk':
        live = addChunk(live, item.chunk);
        break;
      case 'lagged':
        // The server's log is shorter than ours: it was restored from an older copy. Ours is void, and
        // read again from the server's end.
        if (item.lastEventIdx < lastIdx) {
          return { ...EMPTY_LOG, firstIdx: item.lastEventIdx + 1, lastIdx: item.lastEventIdx };
        }
        break;
    }
  }
  if (added.length === 0 && live === log.live && lastIdx === log.lastIdx) return log;
  return { ...log, events: added.length === 0 ? log.events : [...log.events, ...added], lastIdx, live };
}
