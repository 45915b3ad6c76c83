// Text that came from an agent, a model or another person, made safe for a terminal: nothing in it can
// move the cursor, set a title, hide or reorder characters. What was neutralised stays visible.

/** C0 but tab and line feed, DEL, C1, and the characters that hide or reorder text. */
const UNSAFE =
  /[^\P{Cc}\n\t]|[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export function safeText(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(UNSAFE, visible);
}

/** The same on one line, cut to `most` characters. */
export function safeLine(text: string, most = 200): string {
  const line = safeText(text.replace(/\s*\n\s*/g, ' ⏎ ')).replace(/\t/g, ' ');
  const points = [...line];
  return points.length > most ? `${points.slice(0, most - 1).join('')}…` : line;
}

function visible(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return '␡';
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}
