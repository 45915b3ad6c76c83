// Markdown to elements, and nothing else: raw HTML is text, links go only to http, https and mailto
// and never get a handle on this page, images are named but not loaded. Imported lazily.

import type { ComponentProps, ReactNode } from 'react';
import { isValidElement } from 'react';
import { Streamdown } from 'streamdown';
import { words } from '../strings.js';
import { toVisibleString } from '../visible-text.js';
import { CopyButton } from './CopyButton.js';

function textOf(node: ReactNode): string {
  if (typeof node === 'string' || typeof node === 'number') return String(node);
  if (Array.isArray(node)) return node.map(textOf).join('');
  if (isValidElement<{ children?: ReactNode }>(node)) return textOf(node.props.children);
  return '';
}

function Code({ children, className }: ComponentProps<'code'>) {
  return <code className={className}>{children}</code>;
}

function CodeBox({ children }: ComponentProps<'pre'>) {
  return (
    <div className="codebox" dir="ltr">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide block is scrolled by keyboard */}
      <pre tabIndex={0}>{children}</pre>
      <CopyButton text={textOf(children)} className="copy bg-raised!" />
    </div>
  );
}

const SAFE_LINK = /^(https?:|mailto:)/i;

function Link({ href, children }: ComponentProps<'a'>) {
  if (href === undefined || !SAFE_LINK.test(href)) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {children}
    </a>
  );
}

function Image({ alt }: ComponentProps<'img'>) {
  return <span className="chip">{alt === undefined || alt === '' ? words.imageNoAlt : words.image(alt)}</span>;
}

// Headings of a message stand below the page's own.
function TopHeading({ children }: { children?: ReactNode }) {
  return <h2>{children}</h2>;
}
function Heading({ children }: { children?: ReactNode }) {
  return <h3>{children}</h3>;
}

const components = {
  a: Link,
  img: Image,
  pre: CodeBox,
  code: Code,
  inlineCode: Code,
  h1: TopHeading,
  h2: TopHeading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  p: ({ children }: ComponentProps<'p'>) => <p>{children}</p>,
  ul: ({ children }: ComponentProps<'ul'>) => <ul>{children}</ul>,
  ol: ({ children, start }: ComponentProps<'ol'>) => <ol start={start}>{children}</ol>,
  li: ({ children }: ComponentProps<'li'>) => <li>{children}</li>,
  blockquote: ({ children }: ComponentProps<'blockquote'>) => <blockquote>{children}</blockquote>,
  hr: () => <hr />,
  strong: ({ children }: ComponentProps<'strong'>) => <strong>{children}</strong>,
  table: ({ children }: ComponentProps<'table'>) => <table>{children}</table>,
  thead: ({ children }: ComponentProps<'thead'>) => <thead>{children}</thead>,
  tbody: ({ children }: ComponentProps<'tbody'>) => <tbody>{children}</tbody>,
  tr: ({ children }: ComponentProps<'tr'>) => <tr>{children}</tr>,
  th: ({ children }: ComponentProps<'th'>) => <th>{children}</th>,
  td: ({ children }: ComponentProps<'td'>) => <td>{children}</td>,
};

export function MarkdownView({ text, live }: { readonly text: string; readonly live: boolean }) {
  return (
    <Streamdown
      className="md"
      dir="auto"
      mode={live ? 'streaming' : 'static'}
      parseIncompleteMarkdown={live}
      controls={false}
      linkSafety={{ enabled: false }}
      rehypePlugins={[]}
      components={components}
    >
      {toVisibleString(text.replaceAll('\r\n', '\n'))}
    </Streamdown>
  );
}
