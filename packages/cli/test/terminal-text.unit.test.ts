import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { safeLine, safeText } from '../src/terminal-text.js';

describe('safeText', () => {
  it('neutralises escape sequences and leaves them visible', () => {
    expect(safeText('</script> \u001b[2J\u001b]0;x\u0007')).toBe('</script> ␛[2J␛]0;x␇');
  });

  it('shows C1 controls, a lone carriage return, backspace and DEL', () => {
    expect(safeText('a\u009b1mb\rc\u0008d\u007f')).toBe('a<U+009B>1mb␍c␈d␡');
  });

  it('shows what hides or reorders text', () => {
    expect(safeText('if (u != "user\u202e \u2066// admin\u2069")')).toBe(
      'if (u != "user<U+202E> <U+2066>// admin<U+2069>")',
    );
    expect(safeText('a\u200bb\u{e0041}')).toBe('a<U+200B>b<U+E0041>');
  });

  it('keeps line feeds, tabs, letters of all scripts and joined emoji', () => {
    const text = 'one\n\ttwo — שלום नमस्ते 👩‍👩‍👧';
    expect(safeText(text)).toBe(text);
    expect(safeText('a\r\nb')).toBe('a\nb');
  });

  it('never lets a control character through', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(safeText(text)).not.toMatch(/[^\P{Cc}\n\t]/u);
      }),
    );
  });
});

describe('safeLine', () => {
  it('is one line and no longer than asked', () => {
    expect(safeLine('a\n  b\tc')).toBe('a ⏎ b c');
    expect([...safeLine('x'.repeat(500), 10)]).toHaveLength(10);
  });
});
