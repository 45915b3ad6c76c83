// Reads a Messages API request body into what scripts, log and tests need. Tolerant: the body
// comes from a CLI whose requests change with each release, so what is not understood is named
// and skipped, never refused. Pure.

import type { ToolResult } from './reply-script.js';

export type RequestBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }
  | ({ readonly type: 'tool_result' } & ToolResult)
  | { readonly type: 'other'; readonly kind: string };

export interface RequestMessage {
  readonly role: string;
  readonly blocks: readonly RequestBlock[];
}

export interface MessagesRequest {
  readonly model: string | undefined;
  readonly stream: boolean;
  readonly tools: readonly string[];
  readonly system: string;
  readonly messages: readonly RequestMessage[];
}

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The text of a content value: a string, or the text blocks of a list, one after another. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => (isFields(part) && typeof part.text === 'string' ? part.text : JSON.stringify(part)))
    .join('\n');
}

function toBlock(value: unknown): RequestBlock {
  if (!isFields(value)) return { type: 'other', kind: typeof value };
  switch (value.type) {
    case 'text':
      return { type: 'text', text: stringOf(value.text) };
    case 'tool_use':
      return { type: 'tool_use', id: stringOf(value.id), name: stringOf(value.name), input: value.input };
    case 'tool_result':
      return {
        type: 'tool_result',
        tool_use_id: stringOf(value.tool_use_id),
        is_error: value.is_error === true,
        content: contentText(value.content),
      };
    default:
      return { type: 'other', kind: stringOf(value.type) };
  }
}

function toMessage(value: unknown): RequestMessage {
  if (!isFields(value)) return { role: '', blocks: [] };
  const blocks: readonly RequestBlock[] =
    typeof value.content === 'string'
      ? [{ type: 'text', text: value.content }]
      : listOf(value.content).map((block) => toBlock(block));
  return { role: stringOf(value.role), blocks };
}

/** A body that is not a JSON object reads as an empty request. */
export function parseMessagesRequest(raw: string): MessagesRequest {
  let body: unknown;
  try {
    body = JSON.parse(raw);
  } catch {
    body = undefined;
  }
  const fields = isFields(body) ? body : {};
  return {
    model: typeof fields.model === 'string' ? fields.model : undefined,
    stream: fields.stream === true,
    tools: listOf(fields.tools).map((entry) => (isFields(entry) ? stringOf(entry.name) : '')),
    system: contentText(fields.system),
    messages: listOf(fields.messages).map((message) => toMessage(message)),
  };
}

export const textsOf = (message: RequestMessage): readonly string[] =>
  message.blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));

/**
 * The working directory the CLI tells its model, or undefined. 2.1.183 says it in the system
 * prompt, 2.1.332 in a message of role `system`; both as "Primary working directory: /path".
 * What users write is not looked at.
 */
export function findWorkspace(request: MessagesRequest): string | undefined {
  const stated = request.messages.filter((message) => message.role === 'system').flatMap((message) => textsOf(message));
  for (const source of [request.system, ...stated]) {
    const found = /^[ \t*-]*(?:Primary w|W)orking directory: (\/.*?)[ \t]*$/m.exec(source)?.[1];
    if (found !== undefined) return found.length > 1 ? found.replace(/\/+$/, '') : found;
  }
  return undefined;
}

/** The messages behind the last assistant one. Newer CLIs put more than one there. */
export function tailOf(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  return messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1);
}

export function toolResultsIn(messages: readonly RequestMessage[]): readonly ToolResult[] {
  return messages.flatMap((message) =>
    message.blocks.flatMap((block) =>
      block.type === 'tool_result'
        ? [{ tool_use_id: block.tool_use_id, is_error: block.is_error, content: block.content }]
        : [],
    ),
  );
}
