// One line of the request log: what a test needs to prove what reached the model, and when.
// Tool results are kept whole, other text is cut.

import { type MessagesRequest, type RequestBlock, toolResultsIn } from './messages-request.js';
import type { ToolResult } from './reply-script.js';

const TEXT_LIMIT = 8000;

export interface LogEntry {
  /** Counts all requests, from 1. */
  readonly n: number;
  /** Milliseconds since the epoch, when the body was complete. */
  readonly at: number;
  readonly method: string;
  readonly url: string;
  readonly model: string | undefined;
  readonly stream: boolean;
  /** Names of the tools offered. */
  readonly tools: readonly string[];
  /** The working directory the request names. */
  readonly workspace: string | undefined;
  readonly messages: readonly { readonly role: string; readonly blocks: readonly RequestBlock[] }[];
  /** Null when the request is not a message request. */
  readonly scenario: string | null;
  readonly step: number;
  /** `open` while the reply is written; then a stop reason, `error <status>`, `cut`, `client gone`, … */
  outcome: string;
  took_ms?: number;
}

type EntryFacts = Pick<LogEntry, 'n' | 'at' | 'method' | 'url' | 'workspace' | 'scenario' | 'step'>;

export function toLogEntry(request: MessagesRequest, facts: EntryFacts): LogEntry {
  return {
    ...facts,
    model: request.model,
    stream: request.stream,
    tools: request.tools,
    messages: request.messages.map((message) => ({
      role: message.role,
      blocks: message.blocks.map((block) =>
        block.type === 'text' && block.text.length > TEXT_LIMIT
          ? { type: 'text', text: block.text.slice(0, TEXT_LIMIT) }
          : block,
      ),
    })),
    outcome: 'open',
  };
}

/** All tool results a request carried, oldest first. */
export const toolResultsOf = (entry: LogEntry): readonly ToolResult[] => toolResultsIn(entry.messages);

/** How often a text occurs in what the request told the model: in texts and tool results. */
export function timesTold(entry: LogEntry, words: string): number {
  let times = 0;
  for (const message of entry.messages) {
    for (const block of message.blocks) {
      if (block.type === 'text') times += block.text.split(words).length - 1;
      if (block.type === 'tool_result') times += block.content.split(words).length - 1;
    }
  }
  return times;
}
