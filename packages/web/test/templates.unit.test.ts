import { describe, expect, it } from 'vitest';
import { drawnQuery, placesOf } from '../src/mark-words.js';
import { addTemplate, parseTemplate, templateName } from '../src/templates.js';

describe('templates', () => {
  const one = { name: 'One', prompt: 'One', workspace: { kind: 'empty' }, model: '' } as const;

  it('are named by their first words, and one of the same name is replaced', () => {
    expect(templateName('  Do this\nand that')).toBe('Do this');
    expect(templateName('x'.repeat(90))).toHaveLength(60);
    const known = addTemplate(addTemplate([], one), { ...one, name: 'Two' });
    expect(addTemplate(known, { ...one, prompt: 'One again' })).toEqual([
      { ...one, prompt: 'One again' },
      { ...one, name: 'Two' },
    ]);
  });

  it('are only taken whole from what the browser kept', () => {
    expect(parseTemplate(one)).toEqual(one);
    expect(parseTemplate({ ...one, workspace: { kind: 'git', url: 'https://a', ref: 'main' } })?.workspace).toEqual({
      kind: 'git',
      url: 'https://a',
      ref: 'main',
    });
    for (const broken of [null, 'x', {}, { ...one, model: 1 }, { ...one, workspace: { kind: 'path' } }]) {
      expect(parseTemplate(broken)).toBeUndefined();
    }
  });
});

describe('places of a word', () => {
  it('are found in upper and lower case, and do not overlap', () => {
    expect(placesOf('Aa aAa', 'aa')).toEqual([
      [0, 2],
      [3, 5],
    ]);
    expect(placesOf('anything', '')).toEqual([]);
  });

  it('are not shifted by letters that are longer in lower case', () => {
    expect(placesOf('İİ word', 'word')).toEqual([[3, 7]]);
  });

  it('are looked for without the signs of Markdown', () => {
    expect(drawnQuery(' Step **12** is `x` ')).toBe('step 12 is x');
  });
});
