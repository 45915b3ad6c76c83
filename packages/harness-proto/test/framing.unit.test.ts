import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFrame, FRAME_BYTES_MAX, FrameReader, frameEvent, ProtoError } from '../src/index.js';
import { hexOf } from './goldens.js';

const header = (length: number): Uint8Array => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
};
const codeOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    return error instanceof ProtoError ? error.code : 'another error';
  }
  return 'no error';
};

describe('FrameReader', () => {
  it('gives the same bodies however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 }),
        (bodies, cuts) => {
          const stream = Buffer.concat(bodies.map((body) => encodeFrame(body)));
          const reader = new FrameReader();
          const seen: Uint8Array[] = [];
          for (let at = 0, turn = 0; at < stream.length; turn++) {
            const size = cuts[turn % cuts.length] ?? 1;
            seen.push(...reader.push(stream.subarray(at, at + size)));
            at += size;
          }
          reader.end();
          expect(seen.map((body) => hexOf(body))).toEqual(bodies.map((body) => hexOf(body)));
        },
      ),
    );
  });

  it('refuses a length above the cap before it takes memory for it, and stays refused', () => {
    const before = process.memoryUsage().arrayBuffers;
    for (const length of [FRAME_BYTES_MAX + 1, 0xffff_ffff]) {
      const reader = new FrameReader();
      expect(reader.push(encodeFrame(new Uint8Array([1])))).toHaveLength(1);
      expect(codeOf(() => reader.push(header(length)))).toBe('frame_too_large');
      expect(codeOf(() => reader.push(new Uint8Array(1)))).toBe('frame_too_large');
      expect(codeOf(() => reader.end())).toBe('frame_too_large');
    }
    const patient = new FrameReader();
    expect(patient.push(header(FRAME_BYTES_MAX))).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024);
  });

  it('takes a frame of exactly the cap', () => {
    const reader = new FrameReader(8);
    expect(reader.push(Buffer.concat([header(8), Buffer.alloc(8)]))).toHaveLength(1);
    expect(codeOf(() => reader.push(header(9)))).toBe('frame_too_large');
  });

  it('says when the stream ends inside a frame, at any byte of it', () => {
    const frame = frameEvent({ type: 'run_interrupted', run_id: 'r1' });
    for (let length = 0; length <= frame.length; length++) {
      const reader = new FrameReader();
      reader.push(frame.subarray(0, length));
      expect(codeOf(() => reader.end())).toBe(length === 0 || length === frame.length ? 'no error' : 'truncated');
    }
  });
});

describe('a frame that is written', () => {
  it('may not be above the cap', () => {
    expect(encodeFrame(new Uint8Array(FRAME_BYTES_MAX))).toHaveLength(FRAME_BYTES_MAX + 4);
    expect(codeOf(() => encodeFrame(new Uint8Array(FRAME_BYTES_MAX + 1)))).toBe('frame_too_large');
    const chunk = 'x'.repeat(FRAME_BYTES_MAX);
    expect(codeOf(() => frameEvent({ type: 'agent_message_chunk', run_id: '', message_id: '', chunk }))).toBe(
      'frame_too_large',
    );
  });
});
