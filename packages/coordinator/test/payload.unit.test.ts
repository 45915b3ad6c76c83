// What reaches jsonb, what reaches NOTIFY, and what a cursor may be.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor } from '../src/cursor.js';
import { MAX_PAYLOAD_BYTES, parseChunks, toPayloads } from '../src/live/chunks.js';
import { cleanText, toJsonText } from '../src/payload.js';

describe('toJsonText', () => {
  it('replaces NUL and lone surrogates in values and keys and leaves all else alone', () => {
    const text = toJsonText({ 'k\0': ['a\0b', '\ud83d', '\\u0000', '😀'], n: 1, no: null, yes: true });
    expect(JSON.parse(text)).toEqual({ 'k\ufffd': ['a\ufffdb', '\ufffd', '\\u0000', '😀'], n: 1, no: null, yes: true });
  });

  it('never writes an escape that jsonb refuses, whatever the text', () => {
    const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) });
    fc.assert(
      fc.property(anyText, (text) => {
        const json = toJsonText({ text });
        expect(json.replaceAll('\\\\', '')).not.toMatch(/\\u(0000|d[89a-f])/i);
        expect(JSON.parse(json)).toEqual({ text: text.replace(/\0/g, '\ufffd').replace(/\p{Surrogate}/gu, '\ufffd') });
        expect(cleanText(cleanText(text))).toBe(cleanText(text));
      }),
    );
  });

  it('is bounded, whatever comes, and keeps short fields', () => {
    const long = 'é😀'.repeat(2_000);
    const many = Array.from({ length: 3_000 }, (_, at) => `${at}${'x'.repeat(50)}`);
    for (const value of [
      { id: 'keep', long },
      { id: 'keep', many },
      { id: 'keep', deep: { many: [many, many], long } },
    ]) {
      const text = toJsonText(value, 5_000);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5_000);
      expect(JSON.parse(text)).toMatchObject({ id: 'keep', cut_from_bytes: Buffer.byteLength(JSON.stringify(value)) });
      expect(text).not.toMatch(/\\ud/);
    }
    expect(JSON.parse(toJsonText({ [long]: 1 }, 1_000))).toEqual({ cut_from_bytes: 12_006 });
  });
});

describe('chunk payloads', () => {
  const rows = fc.array(
    fc.tuple(fc.uuid(), fc.string(), fc.string(), fc.string({ unit: 'binary', maxLength: 3_000 })),
    { maxLength: 30 },
  );

  it('stay below the limit in bytes, keep the order and lose only what cannot fit', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const { payloads, tooBig } = toPayloads(given);
        for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
        const back = payloads.flatMap(parseChunks).map(({ sessionId, chunk }) => [sessionId, chunk.chunk]);
        expect(back.length + tooBig).toBe(given.length);
        if (tooBig === 0) expect(back).toEqual(given.map((row) => [row[0], cleanText(row[3])]));
      }),
    );
  });

  it('of anybody else are no chunks', () => {
    for (const payload of ['', 'x', '{}', '[1]', '[["a"]]', 'null']) expect(parseChunks(payload)).toEqual([]);
  });
});

describe('cursors', () => {
  it('come back as they were', () => {
    const more = fc.option(
      fc.string({ minLength: 1, maxLength: 60 }).filter((text) => !text.includes('\n')),
      { nil: undefined },
    );
    fc.assert(
      fc.property(fc.nat(), fc.uuid(), more, (atMs, id, extra) => {
        const cursor = { atMs, id, ...(extra === undefined ? {} : { more: extra }) };
        expect(decodeCursor(encodeCursor(cursor))).toEqual(cursor);
      }),
    );
  });
});
