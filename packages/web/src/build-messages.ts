// The log as a page to read: rows in order, tool calls with their results, file changes, one card
// per question, runs with their counts. Pure. Keys come from our own idx, so what an agent names
// twice is still one row each; the same message twice is shown once.

import type { LogEvent, SessionStatus } from './api-types.js';
import { ConversationBuilder } from './conversation-builder.js';
import type { Row } from './conversation-rows.js';
import { buildPromptQueue, type QueuedPrompt } from './prompt-queue.js';
import { buildQuestionCards, isOpen, type QuestionCard } from './question-cards.js';
import type { LiveText, SessionLog } from './session-store.js';

export interface Conversation {
  readonly rows: readonly Row[];
  readonly openCards: readonly QuestionCard[];
  readonly cards: ReadonlyMap<string, QuestionCard>;
  readonly queue: readonly QueuedPrompt[];
  readonly running: boolean;
  /** From the log; undefined while it holds no status change. */
  readonly status: SessionStatus | undefined;
  readonly deleted: boolean;
}

export interface StoredConversation extends Conversation {
  /** Text per message id, to tell streamed text that is stored by now. */
  readonly storedText: ReadonlyMap<string, string>;
}

/** The stored part: grows with the log, so it is made once per new event and not per streamed word. */
export function buildStored(events: readonly LogEvent[], whole = true): StoredConversation {
  const cards = buildQuestionCards(events);
  const builder = new ConversationBuilder(cards, whole);
  for (const entry of events) builder.add(entry);
  const earlier: readonly Row[] = whole ? [] : [{ kind: 'earlier', key: 'earlier' }];
  const rows = [...earlier, ...builder.finish()];
  const openCards = [...cards.values()].filter(isOpen);
  const running = [...builder.runs.values()].some((run) => run.state === 'open');
  const stuck = builder.status === 'failed' || builder.status === 'host_lost';
  if (stuck) for (const row of builder.placed.values()) row.pending = 'stuck';
  return {
    rows,
    cards,
    openCards,
    queue: buildPromptQueue(events).filter(({ promptId }) => !builder.placed.has(promptId)),
    running,
    status: builder.status,
    deleted: builder.deleted,
    storedText: builder.storedText,
  };
}

/** The same with what is being streamed below it; text that is stored already is not shown again. */
export function withLive(stored: StoredConversation, live: readonly LiveText[]): Conversation {
  const fresh = live.filter(({ messageId, text }) => stored.storedText.get(messageId)?.includes(text) !== true);
  if (fresh.length === 0) return stored;
  const rows: Row[] = [...stored.rows];
  for (const { messageId, runId, text } of fresh) {
    rows.push({ kind: 'message', key: `live-${messageId}`, runId, role: 'assistant', text, cutBytes: 0, live: true });
  }
  return { ...stored, rows };
}

export function buildConversation({ events, live }: Pick<SessionLog, 'events' | 'live'>): Conversation {
  return withLive(buildStored(events), live);
}
