// Makes a value fit for a jsonb column: no NUL and no lone surrogate in any text or key (jsonb
// takes neither), never more than a bounded number of bytes. Cleaning happens on the value, before
// it becomes JSON text: in the text an escape cannot be told from a person's own "\u0000". Pure.

/** Far above what a harness sends; a row beyond this is cut, not refused. */
export const MAX_EVENT_BYTES = 1024 * 1024;

const CUTS = [
  { text: 65_536, list: 2_000 },
  { text: 8_192, list: 500 },
  { text: 1_024, list: 100 },
  { text: 128, list: 20 },
] as const;

export function toJsonText(value: object, maxBytes: number = MAX_EVENT_BYTES): string {
  const text = toCleanJson(value);
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 <= maxBytes) return text;
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return text;
  for (const cut of CUTS) {
    const smaller = toCleanJson({ ...toObject(shrink(value, cut.text, cut.list)), cut_from_bytes: bytes });
    if (Buffer.byteLength(smaller) <= maxBytes) return smaller;
  }
  return JSON.stringify({ cut_from_bytes: bytes });
}

/** The text as a jsonb column can hold it. */
export function cleanText(text: string): string {
  return /[\0\p{Surrogate}]/u.test(text) ? text.replace(/[\0\p{Surrogate}]/gu, '\ufffd') : text;
}

function toCleanJson(value: object): string {
  const text = JSON.stringify(value);
  // NUL and lone surrogates can only come out as \u escapes; most texts have none.
  return text.includes('\\u') ? JSON.stringify(clean(value)) : text;
}

function clean(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(clean);
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries defines own properties, so a key named __proto__ stays a key.
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), clean(inner)]));
}

function shrink(value: unknown, textLimit: number, listLimit: number): unknown {
  if (typeof value === 'string') return cutText(value, textLimit);
  if (Array.isArray(value)) return value.slice(0, listLimit).map((inner) => shrink(inner, textLimit, listLimit));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shrink(inner, textLimit, listLimit)]));
}

function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? limit - 1 : limit);
}

function toObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
