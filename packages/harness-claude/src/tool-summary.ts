// A tool call's input in one readable line of JSON. When it is too long, long strings and lists in
// it are shortened first, so that every key still shows, and only then the line is cut.

import { asArray, isRecord } from './json-guards.js';
import { ARGS_SUMMARY_BYTES, type CutText, cutText } from './text-caps.js';

const LONG_STRING_BYTES = 200;
const SHORT_STRING_BYTES = 60;
const LIST_ITEMS = 5;
const MAX_DEPTH = 6;

export function summarizeArgs(input: unknown, maxBytes = ARGS_SUMMARY_BYTES): CutText {
  const whole = toJson(input);
  if (whole === '{}' || whole === '') return { text: '', dropped: 0 };
  const total = Buffer.byteLength(whole);
  if (total <= maxBytes) return { text: whole, dropped: 0 };
  let text = '';
  for (const stringBytes of [LONG_STRING_BYTES, SHORT_STRING_BYTES]) {
    text = toJson(shorten(input, stringBytes, 0));
    if (Buffer.byteLength(text) <= maxBytes) break;
  }
  const cut = cutText(text, maxBytes).text;
  return { text: cut, dropped: Math.max(1, total - Buffer.byteLength(cut)) };
}

function toJson(value: unknown): string {
  return JSON.stringify(value) ?? '';
}

function shorten(value: unknown, stringBytes: number, depth: number): unknown {
  if (typeof value === 'string') {
    const { text, dropped } = cutText(value, stringBytes);
    return dropped > 0 ? `${text}…` : text;
  }
  if (depth >= MAX_DEPTH) return '…';
  const list = asArray(value);
  if (list) {
    const kept = list.slice(0, LIST_ITEMS).map((item) => shorten(item, stringBytes, depth + 1));
    return list.length > LIST_ITEMS ? [...kept, `… ${list.length - LIST_ITEMS} more`] : kept;
  }
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shorten(item, stringBytes, depth + 1)]));
}
