import fc from 'fast-check';
import { expect, it } from 'vitest';
import * as proto from '../src/index.js';

it('pins the caps', () => {
  expect(proto.FRAME_BYTES_MAX).toBe(16_777_216);
  expect(proto.ARGS_SUMMARY_BYTES_MAX).toBe(1024);
  expect(proto.RESULT_SUMMARY_BYTES_MAX).toBe(4096);
  expect(proto.MESSAGE_TEXT_BYTES_MAX).toBe(65_536);
  expect(proto.CHUNK_BYTES_MAX).toBe(6144);
  expect(proto.FILE_CONTENT_BYTES_MAX).toBe(65_536);
  expect(proto.EVENT_BYTES_MAX).toBeLessThan(proto.FRAME_BYTES_MAX / 8);
});

it('cuts between characters', () => {
  expect(proto.truncateUtf8('héllo', 2)).toEqual({ text: 'h', droppedBytes: 5 });
  expect(proto.truncateUtf8('a👍b', 4)).toEqual({ text: 'a', droppedBytes: 5 });
  expect(proto.truncateUtf8('a👍b', 5)).toEqual({ text: 'a👍', droppedBytes: 1 });
  expect(proto.truncateUtf8('a👍b', 6)).toEqual({ text: 'a👍b', droppedBytes: 0 });
  expect(proto.truncateUtf8('abc', 0)).toEqual({ text: '', droppedBytes: 3 });
});

it('keeps as much as fits and counts the rest', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, max) => {
      const cut = proto.truncateUtf8(text, max);
      expect(text.startsWith(cut.text)).toBe(true);
      const kept = Buffer.byteLength(cut.text);
      expect(kept).toBeLessThanOrEqual(max);
      expect(kept + cut.droppedBytes).toBe(Buffer.byteLength(text));
      const next = Array.from(text.slice(cut.text.length))[0];
      if (next !== undefined) expect(kept + Buffer.byteLength(next)).toBeGreaterThan(max);
    }),
  );
});
