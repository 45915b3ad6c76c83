// The few pages that are not the web app: a link that no longer works, an app that was not built.
// Self-contained, no script, and a policy that allows nothing but its one style sheet.

import { createHash } from 'node:crypto';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem;color:#1c1c1c;background:#fff}' +
  'h1{font-size:1.25rem}code{background:#f0f0f0;padding:.1em .3em;border-radius:3px}' +
  '@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}code{background:#2a2a2a}}';

export const PLAIN_PAGE_CSP = `default-src 'none'; style-src 'sha256-${createHash('sha256')
  .update(STYLE)
  .digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** `paragraphs` are our own HTML, never anything from a request. */
function page(title: string, paragraphs: readonly string[]): string {
  const body = paragraphs.map((p) => `<p>${p}</p>`).join('');
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>${title} · Engram</title><style>${STYLE}</style></head><body><h1>${title}</h1>${body}</body></html>`;
}

export const LINK_USED_PAGE = page('This link no longer works', [
  'A sign-in link opens Engram once, in one browser, and for ten minutes.',
  'Get a new one on the machine where Engram runs: <code>engram open</code> (or <code>npx engram open</code> in its folder).',
]);

export const TRY_AGAIN_PAGE = page('Engram cannot reach its database', [
  'Your link was not used. Wait a few seconds and reload this page.',
]);

export const NOT_BUILT_PAGE = page('The web app is not built', [
  'The server runs and its API answers, but the files of the web app are missing.',
  'Build them with <code>npm run build</code> in the folder of Engram, then reload this page.',
]);
