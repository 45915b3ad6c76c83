// One line for a tool call: what it was called with, as a person would say it. Pure. Arguments are
// a summary that may be cut anywhere, so a whole JSON value is tried first and a field by pattern next.

import { isJsonObject } from './parse-event.js';

const TELLING = [
  'command',
  'file_path',
  'notebook_path',
  'path',
  'pattern',
  'query',
  'url',
  'description',
  'prompt',
  'skill',
];

export function toolTitle(args: string | undefined): string {
  if (args === undefined || args === '') return '';
  const parsed = parseJson(args);
  if (isJsonObject(parsed)) {
    for (const field of TELLING) {
      const value = parsed[field];
      if (typeof value === 'string' && value !== '') return firstLine(value);
    }
    return firstLine(Object.keys(parsed).length === 0 ? '' : args);
  }
  for (const field of TELLING) {
    const match = new RegExp(`"${field}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`).exec(args);
    if (match?.[1] !== undefined && match[1] !== '') return firstLine(unescapeJson(match[1]));
  }
  return firstLine(args);
}

/** Arguments laid out for reading when they are whole JSON; as they are otherwise. */
export function formatArgs(args: string): string {
  const parsed = parseJson(args);
  return isJsonObject(parsed) || Array.isArray(parsed) ? JSON.stringify(parsed, null, 2) : args;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unescapeJson(text: string): string {
  const value = parseJson(`"${text.replace(/\\$/, '')}"`);
  return typeof value === 'string' ? value : text;
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}

/** A tool of an MCP server by server and name; the agent calls it `mcp__server__name`. */
export function toolName(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return server === undefined || tool === undefined ? name : `${server}: ${tool}`;
}
