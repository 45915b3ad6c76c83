import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { MarkdownView } from '../src/parts/MarkdownView.js';

const render = (text: string, live = false) => renderToStaticMarkup(createElement(MarkdownView, { text, live }));

const VECTORS = [
  '<script>alert(1)</script>',
  '</script><img src=x onerror=alert(1)>',
  'text <img src=x onerror=alert(1)> text',
  '<svg onload=alert(1)><a xlink:href="javascript:alert(1)">x</a></svg>',
  '<iframe src="https://evil.example"></iframe>',
  '<a href="javascript:alert(1)">x</a>',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](data:text/html;base64,PHNjcmlwdD4=)',
  '[x](vbscript:msgbox)',
  '[x](//evil.example)',
  '<javascript:alert(1)>',
  '![x](https://evil.example/pixel.png)',
  '![x](javascript:alert(1))',
  '[![x](https://evil.example/p.png)](https://evil.example)',
  '<style>*{display:none}</style>',
  '<form action="https://evil.example"><input name=a></form>',
  '<details open ontoggle=alert(1)>',
  '<!-- comment --><b onclick=alert(1)>b</b>',
  '`<img src=x onerror=alert(1)>`',
  '```html\n<script>alert(1)</script>\n```',
  '```"onmouseover="alert(1)\nx\n```',
  '| a |\n| --- |\n| <img src=x onerror=alert(1)> |',
  'note[^1]\n\n[^1]: <img src=x onerror=alert(1)>',
  '# <img src=x onerror=alert(1)>',
  '<div><p>block</p>\n\n<img src=x onerror=alert(1)>\n</div>',
];

/** Every element the page may make of an agent's words. `button` is the copy button of a code box. */
const ALLOWED =
  /^(div|p|span|a|code|pre|strong|em|del|ul|ol|li|blockquote|hr|br|h2|h3|table|thead|tbody|tr|th|td|sup|section|input|button)$/;

describe('agent text', () => {
  for (const live of [false, true]) {
    it(`never becomes markup (${live ? 'streaming' : 'stored'})`, () => {
      for (const vector of VECTORS) {
        const html = render(vector, live);
        for (const [, tag = '', attributes = ''] of html.matchAll(/<([a-z][a-z0-9]*)((?:\s[^>]*)?)>/gi)) {
          expect(`${vector} → ${tag}`).toMatch(new RegExp(`→ ${ALLOWED.source.slice(1)}`));
          expect(`${vector} → ${attributes}`).not.toMatch(
            /→.*\s(on[a-z]+=|src=|srcdoc=|action=|style=(?!"display:contents"))/i,
          );
          const href = /\shref="([^"]*)"/.exec(attributes)?.[1];
          if (href !== undefined) expect(href).toMatch(/^(https?:|mailto:)/);
        }
      }
    });
  }

  it('still reads: raw HTML is shown as text', () => {
    expect(render('see <b>this</b>')).toContain('&lt;b&gt;this&lt;/b&gt;');
  });

  it('opens links elsewhere and gives them no handle on the page', () => {
    expect(render('[docs](https://example.org/a)')).toMatch(
      /<a [^>]*href="https:\/\/example\.org\/a"[^>]*rel="noopener noreferrer nofollow"/,
    );
  });

  it('names an image instead of loading it', () => {
    expect(render('![a cat](https://example.org/cat.png)')).toContain('Image not loaded: a cat');
  });

  it('makes hidden characters visible', () => {
    expect(render('rm \u202E-rf')).toContain('⟨U+202E⟩');
  });
});
