// docs/field-cases.md names tests that exist: a renamed test turns this red, not the document false.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));
const cases = readFileSync(`${root}docs/field-cases.md`, 'utf8')
  .split('\n')
  .flatMap((line): [string, string][] => {
    const [, id, rest] = /^- \*\*([A-Z]+-\d+)\*\* (.+)$/.exec(line) ?? [];
    return id === undefined || rest === undefined ? [] : [[id, rest]];
  });

it('has one line a case', () => {
  expect(cases).toHaveLength(50);
  expect(new Set(cases.map(([id]) => id)).size).toBe(50);
});

it.each(cases)('covers %s by tests that exist, or says why it cannot occur', (_id, line) => {
  const named = [...line.matchAll(/`([^`]+\.ts)`|“([^”]+)”/g)];
  const missing: string[] = [];
  let path = '';
  for (const [, file, title] of named) {
    if (file !== undefined) {
      path = `${root}${file}`;
      if (!existsSync(path)) missing.push(file);
    } else if (title !== undefined && (!existsSync(path) || !readFileSync(path, 'utf8').includes(`'${title}'`))) {
      missing.push(title);
    }
  }
  expect(missing).toEqual([]);
  expect(named.some(([, , title]) => title !== undefined) || line.includes('cannot occur, because')).toBe(true);
});
