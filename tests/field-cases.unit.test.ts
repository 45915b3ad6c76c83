// docs/field-cases.md names tests that exist: a renamed test turns this red, not the document false.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** How many cases of each area were met in the field; a new area gets a line here. */
const CASES = { AUQ: 21, HOOK: 9, RES: 13, STR: 7, DIF: 13, WEB: 8 };

const root = fileURLToPath(new URL('../', import.meta.url));
const cases = readFileSync(`${root}docs/field-cases.md`, 'utf8')
  .split('\n')
  .flatMap((line): [string, string][] => {
    const [, id, rest] = /^- \*\*([A-Z]+-\d+)\*\* (.+)$/.exec(line) ?? [];
    return id === undefined || rest === undefined ? [] : [[id, rest]];
  });

it('has one line a case', () => {
  const ids = cases.map(([id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const counts: Record<string, number> = {};
  for (const id of ids) {
    const area = id.split('-')[0] ?? '';
    counts[area] = (counts[area] ?? 0) + 1;
  }
  expect(counts).toEqual(CASES);
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
