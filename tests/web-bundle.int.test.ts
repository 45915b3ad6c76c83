// What a browser must load before the page is there: small, and without what only an opened diff needs.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { repositoryRoot } from '@engram/testkit';
import { describe, expect, it } from 'vitest';

const dist = join(repositoryRoot, 'packages/web/dist');
const html = readFileSync(join(dist, 'index.html'), 'utf8');
const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map((match) => match[1] ?? '');

describe('the main bundle', () => {
  it('is at most 130 KB compressed', () => {
    const bytes = first.map((path) => gzipSync(readFileSync(join(dist, path))).length);
    expect(first.length).toBeGreaterThan(0);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(130_000);
  });

  it('holds no diff viewer, highlighter or markdown renderer: those are files of their own', () => {
    const text = first.map((path) => readFileSync(join(dist, path), 'utf8')).join('\n');
    const only = readdirSync(join(dist, 'assets')).filter((name) => /^(DiffView|MarkdownView)-.*\.js$/.test(name));
    expect(only).toHaveLength(2);
    // Names that the libraries carry in their own code.
    for (const mark of ['diffs-container', 'codeToTokens', 'textmate', 'mdast']) expect(text).not.toContain(mark);
    const diffView = readFileSync(join(dist, 'assets', only.find((name) => name.startsWith('Diff')) ?? ''), 'utf8');
    expect(diffView).toContain('diffs-container');
  });

  it('brings no inline script, so that the strict policy holds', () => {
    expect([...html.matchAll(/<script(?![^>]*\ssrc=)/g)]).toEqual([]);
    expect(html).not.toMatch(/\son\w+=/);
  });
});
