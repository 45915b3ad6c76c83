import { describe, expect, it } from 'vitest';
import { toVisibleString, toVisibleText } from '../src/visible-text.js';

describe('visible text', () => {
  it('names bidi controls in code', () => {
    const line = 'if (u != "user\u202E \u2066// admin\u2069 \u2066") {';
    expect(toVisibleString(line)).toBe('if (u != "user⟨U+202E⟩ ⟨U+2066⟩// admin⟨U+2069⟩ ⟨U+2066⟩") {');
    expect(toVisibleText(line)).toMatchObject({ hiddenCount: 4, deceptive: true });
  });

  it('names them in a path', () => {
    expect(toVisibleString('/ws/\u202Egnp.exe')).toBe('/ws/⟨U+202E⟩gnp.exe');
  });

  it('names zero-width, tag and filler characters', () => {
    for (const char of ['\u200b', '\u2060', '\ufeff', '\u00ad', '\u3164', '\u{e0041}', '\u2028']) {
      expect(toVisibleText(`a${char}b`)).toMatchObject({ hiddenCount: 1, deceptive: true });
    }
  });

  it('neutralises control codes and terminal sequences without calling them deceptive', () => {
    expect(toVisibleText('\u001b[2J\u001b]0;x\u0007')).toMatchObject({ hiddenCount: 3, deceptive: false });
    expect(toVisibleString('a\u0000b')).toBe('a⟨U+0000⟩b');
  });

  it('leaves text of right-to-left scripts, emoji and layout alone', () => {
    for (const text of ['שלום עולם', 'مرحبا بالعالم', 'می‌خواهم', '👩‍💻 👍🏽 ❤️', 'a\tb\nc', 'naïve 日本語', '']) {
      expect(toVisibleText(text)).toEqual({ parts: [{ text }], hiddenCount: 0, deceptive: false });
      expect(toVisibleString(text)).toBe(text);
    }
  });

  it('names a joiner that joins nothing', () => {
    expect(toVisibleString('pay\u200dpal')).toBe('pay⟨U+200D⟩pal');
  });

  it('loses no character', () => {
    const text = 'x\u202Ey\u0007z';
    expect(
      toVisibleText(text)
        .parts.map((part) => part.text)
        .join(''),
    ).toBe(text);
  });
});
