// Makes what hides in text visible: bidirectional controls, zero-width and other invisible
// characters, control codes, and terminal escape sequences. Text of right-to-left scripts stays as
// it is; only the characters that can make text look like something else are named. Pure.

export interface TextPart {
  readonly text: string;
  /** Set for a hidden character: what to show in its place, e.g. `U+202E`. */
  readonly hidden?: string;
}

export interface VisibleText {
  readonly parts: readonly TextPart[];
  readonly hiddenCount: number;
  /** At least one hidden character can reorder or disguise text (not merely a control code). */
  readonly deceptive: boolean;
}

// C0 and C1 controls (tab and line feed are layout), soft hyphen, Arabic letter mark, Hangul fillers,
// Mongolian separator, zero-width and bidi controls, line separators, invisible operators, BOM,
// interlinear marks, tags, variation selectors supplement.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]|[\u{e0100}-\u{e01ef}]/gu;

/** The same without state, for a quick look at text that almost always has none. */
const ANY_HIDDEN = new RegExp(HIDDEN.source, 'u');

const CONTROL_CODES_END = 0x9f;
/** Joins emoji and shapes several scripts; hidden only where neither side is such a character. */
const ZERO_WIDTH_JOINERS = new Set(['\u200c', '\u200d']);
const JOINED =
  /[\p{Extended_Pictographic}\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Kannada}\p{Script=Telugu}\p{Script=Syriac}]|\ufe0f/u;

export function nameOf(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

function isJoiningHere(text: string, at: number): boolean {
  const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? '';
  const after = [...text.slice(at + 1, at + 3)][0] ?? '';
  return JOINED.test(before) && JOINED.test(after);
}

export function toVisibleText(text: string): VisibleText {
  if (!ANY_HIDDEN.test(text)) return { parts: [{ text }], hiddenCount: 0, deceptive: false };
  const parts: TextPart[] = [];
  let from = 0;
  let hiddenCount = 0;
  let deceptive = false;
  for (const match of text.matchAll(HIDDEN)) {
    const char = match[0];
    const at = match.index;
    if (ZERO_WIDTH_JOINERS.has(char) && isJoiningHere(text, at)) continue;
    if (at > from) parts.push({ text: text.slice(from, at) });
    parts.push({ text: char, hidden: nameOf(char) });
    from = at + char.length;
    hiddenCount += 1;
    deceptive ||= (char.codePointAt(0) ?? 0) > CONTROL_CODES_END;
  }
  if (from < text.length || parts.length === 0) parts.push({ text: text.slice(from) });
  return { parts, hiddenCount, deceptive };
}

/** One plain string with every hidden character written as ⟨U+XXXX⟩: for places that take no markup. */
export function toVisibleString(text: string): string {
  const { parts, hiddenCount } = toVisibleText(text);
  if (hiddenCount === 0) return text;
  return parts.map((part) => (part.hidden === undefined ? part.text : `⟨${part.hidden}⟩`)).join('');
}
