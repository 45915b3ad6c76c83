import { describe, expect, it } from 'vitest';
import { byteSize, duration, relativeTime, splitPath } from '../src/format.js';
import { parseRoute, toPath } from '../src/route.js';
import { formatArgs, toolName, toolTitle } from '../src/tool-title.js';

describe('tool titles', () => {
  it('say what a call was made with, also when the arguments were cut', () => {
    expect(toolTitle('{"command":"npm test\\n--watch","description":"x"}')).toBe('npm test');
    expect(toolTitle('{"file_path":"/a/b.ts","content":"lorem ip')).toBe('/a/b.ts');
    expect(toolTitle('{"description":"say \\"hi')).toBe('say "hi');
    expect(['Bash', 'mcp__browser__take_shot', 'mcp__x'].map(toolName)).toEqual([
      'Bash',
      'browser: take_shot',
      'mcp__x',
    ]);
    expect(toolTitle('plain words')).toBe('plain words');
    expect(toolTitle('{}')).toBe('');
    expect(toolTitle(undefined)).toBe('');
  });

  it('lay whole JSON out and leave the rest alone', () => {
    expect(formatArgs('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(formatArgs('{"a":')).toBe('{"a":');
  });
});

describe('format', () => {
  it('words times, durations and sizes', () => {
    const now = Date.parse('2030-05-04T12:00:00Z');
    expect(relativeTime('2030-05-04T11:57:00Z', now)).toBe('3m');
    expect(relativeTime('2030-05-04T12:00:30Z', now)).toBe('now');
    expect(relativeTime('nonsense', now)).toBe('');
    expect([104, 14_300, 123_000, 3_900_000].map(duration)).toEqual(['0.1 s', '14 s', '2m 03s', '1h 05m']);
    expect([1, 12, 1_536, 70_000, 2_500_000].map(byteSize)).toEqual([
      '1 byte',
      '12 bytes',
      '1.5 KB',
      '70 KB',
      '2.5 MB',
    ]);
    expect(splitPath('src/a/b.ts')).toEqual({ folder: 'src/a/', name: 'b.ts' });
  });
});

describe('routes', () => {
  it('lead there and back', () => {
    for (const id of ['abc', 'a/b', 'ü?#']) {
      expect(parseRoute(toPath({ name: 'session', id }))).toEqual({ name: 'session', id });
    }
    for (const path of ['/', '/x', '/sessions/', '/sessions/%E0%A4%A']) {
      expect(parseRoute(path)).toEqual({ name: 'home' });
    }
  });
});
