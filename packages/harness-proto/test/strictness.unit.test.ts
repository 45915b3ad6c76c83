// Bytes that break the rules are a typed error, found before memory is taken for them.
import { describe, expect, it } from 'vitest';
import {
  decodeAttach,
  decodeAttachAck,
  decodeCommand,
  decodeEvent,
  encodeAttach,
  encodeCommand,
  encodeEvent,
  type HarnessEvent,
  type KnownHarnessEvent,
  ProtoError,
  type ProtoErrorCode,
} from '../src/index.js';
import { ACK_GOLDENS, ATTACH_GOLDEN, bytesOf, COMMAND_GOLDENS, EVENT_GOLDENS } from './goldens.js';

function codeOf(act: () => unknown): ProtoErrorCode | 'no error' {
  try {
    act();
  } catch (error) {
    if (error instanceof ProtoError) return error.code;
    throw error;
  }
  return 'no error';
}

/** The lengths at which an event may end: before each of its trailing fields. */
function endings(event: KnownHarnessEvent): readonly number[] {
  const ends = [encodeEvent(event).length];
  const without = (...names: readonly string[]): void => {
    const kept = Object.fromEntries(Object.entries(event).filter(([name]) => !names.includes(name)));
    ends.push(encodeEvent({ ...event, ...unset(names), ...kept }).length);
  };
  const unset = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, undefined]));
  if ('parent_tool_call_id' in event) without('parent_tool_call_id');
  if ('images' in event) without('images');
  without('parent_tool_call_id', 'truncated_bytes', 'images', 'option_previews', 'truncation');
  return ends;
}

describe('a body cut short', () => {
  it.each(EVENT_GOLDENS)('is an error at every point inside $name', ({ value, hex }) => {
    const body = bytesOf(hex);
    const allowed = new Set(endings(value));
    // an absent earlier field that is written as None may be the end, too
    if ('parent_tool_call_id' in value) allowed.add(encodeEvent({ ...value, parent_tool_call_id: '' }).length - 9);
    if ('images' in value) allowed.add(encodeEvent({ ...value, images: [] }).length - 9);
    for (let length = 0; length < body.length; length++) {
      const code = codeOf(() => decodeEvent(body.subarray(0, length)));
      expect([length, code]).toEqual([
        length,
        allowed.has(length) ? 'no error' : expect.stringMatching(/^(truncated|length_beyond_body)$/),
      ]);
    }
  });

  it.each(COMMAND_GOLDENS)('is an error at every point inside the command $name', ({ value, hex }) => {
    const body = bytesOf(hex);
    const trailing = 'trace_parent' in value ? 1 + 8 + (value.trace_parent ?? '').length : 0;
    for (let length = 0; length < body.length; length++) {
      if (trailing > 0 && length === body.length - trailing) continue;
      expect(codeOf(() => decodeCommand(body.subarray(0, length)))).toMatch(/^(truncated|length_beyond_body)$/);
    }
  });

  it('is an error inside the handshake, but for the ends of its earlier shapes', () => {
    const attach = bytesOf(ATTACH_GOLDEN.hex);
    const ends = [37, 51, 59];
    for (let length = 0; length < attach.length; length++) {
      expect([length, codeOf(() => decodeAttach(attach.subarray(0, length))) === 'no error']).toEqual([
        length,
        ends.includes(length),
      ]);
    }
    for (const { hex } of ACK_GOLDENS) {
      const ack = bytesOf(hex);
      for (let length = 0; length < ack.length; length++) {
        expect(codeOf(() => decodeAttachAck(ack.subarray(0, length))) === 'no error').toBe(length === ack.length - 8);
      }
    }
  });
});

describe('a single bad byte', () => {
  it.each<[string, string, ProtoErrorCode]>([
    ['a bool of 2', `04000000 0100000000000000 61 02`, 'bad_bool'],
    ['an option tag of 2', `00000000 0100000000000000 61 02 00`, 'bad_option'],
    ['a trailing option tag of 7', `01000000 ${'00'.repeat(16)} 00000000 ${'00'.repeat(8)} 07`, 'bad_option'],
    ['a lone continuation byte', `05000000 0100000000000000 80`, 'bad_utf8'],
    ['an overlong NUL', `05000000 0200000000000000 c080`, 'bad_utf8'],
    ['an encoded surrogate', `05000000 0300000000000000 eda080`, 'bad_utf8'],
    ['a code point above U+10FFFF', `05000000 0400000000000000 f4908080`, 'bad_utf8'],
    ['a character cut in two', `05000000 0200000000000000 e282`, 'bad_utf8'],
    ['a u64 of 2^53', `03000000 ${'00'.repeat(24)} 01 0000000000002000 00`, 'bad_number'],
    ['a u64 of 2^64-1', `03000000 ${'00'.repeat(24)} 01 ffffffffffffffff 00`, 'bad_number'],
  ])('%s', (_, hex, code) => {
    expect(codeOf(() => decodeEvent(bytesOf(hex)))).toBe(code);
  });

  it('never surfaces as anything but a ProtoError or a value', () => {
    for (const [decode, goldens] of [
      [decodeEvent, EVENT_GOLDENS],
      [decodeCommand, COMMAND_GOLDENS],
    ] as const) {
      for (const { hex } of goldens) {
        const body = bytesOf(hex);
        for (let at = 0; at < body.length; at++) {
          for (const flip of [0x01, 0x80, 0xff]) {
            const damaged = body.slice();
            damaged[at] = (damaged[at] ?? 0) ^ flip;
            expect(() => codeOf(() => decode(damaged))).not.toThrow();
          }
        }
      }
    }
  });
});

describe('a length beyond the body', () => {
  const beyond = ['0000000000010000', 'ffffffffffffffff', '0100000001000000', 'ffffff7f00000000'];

  it.each(beyond)('of %s is refused for strings, lists and maps without taking memory', (length) => {
    const before = process.memoryUsage();
    const run = '0100000000000000 61';
    for (const hex of [
      `05000000 ${length} 6161`,
      `0b000000 ${run} ${run} ${length} ${'00'.repeat(64)}`,
      `0c000000 ${run} ${run} ${length} ${'00'.repeat(64)}`,
      `0d000000 ${run} ${run} ${run} 01000000 ${length} ${'00'.repeat(64)}`,
      `0d000000 ${run} ${run} ${run} 02000000 01000000 ${length} ${'00'.repeat(64)}`,
    ]) {
      expect(codeOf(() => decodeEvent(bytesOf(hex)))).toBe('length_beyond_body');
    }
    expect(codeOf(() => decodeCommand(bytesOf(`0a000000 ${length} ${'00'.repeat(64)}`)))).toBe('length_beyond_body');
    const after = process.memoryUsage();
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(1024 * 1024);
    expect(after.heapUsed - before.heapUsed).toBeLessThan(16 * 1024 * 1024);
  });

  it('is seen from the least size of an item, before the first one is read', () => {
    // three empty questions would need 75 bytes
    const hex = `0b000000 0000000000000000 0000000000000000 0300000000000000 ${'00'.repeat(74)}`;
    expect(codeOf(() => decodeEvent(bytesOf(hex)))).toBe('length_beyond_body');
  });
});

describe('a map', () => {
  const entry = (key: string): string => `0100000000000000 ${key} 0000000000000000`;
  const answered = (...keys: readonly string[]): string =>
    `0c000000 ${'00'.repeat(16)} 0${keys.length}00000000000000 ${keys.map((key) => entry(key)).join('')}`;

  it('may not hold a key twice', () => {
    expect(codeOf(() => decodeEvent(bytesOf(answered('61', '61'))))).toBe('duplicate_key');
    const same: HarnessEvent = {
      type: 'question_answered',
      run_id: '',
      tool_call_id: '',
      answers: { 'a\ud800': [], 'a\ud801': [] },
    };
    expect(codeOf(() => encodeEvent(same))).toBe('duplicate_key');
  });

  it('is read in any order', () => {
    expect(decodeEvent(bytesOf(answered('62', '61'))).value).toMatchObject({ answers: { a: [], b: [] } });
  });

  it('is written in the order of the keys’ UTF-8 bytes, not of their UTF-16 units', () => {
    const hex = Buffer.from(
      encodeEvent({
        type: 'question_answered',
        run_id: '',
        tool_call_id: '',
        answers: { '\u{10000}': [], '\uffff': [], b: [], '10': [], '9': [] },
      }),
    ).toString('hex');
    const order = ['3130', '39', '62', 'efbfbf', 'f0908080'].map((key) => hex.indexOf(`0000000000${key}`));
    expect(order.every((at, index) => at > (order[index - 1] ?? 0))).toBe(true);
  });

  it('takes __proto__ and its like for ordinary keys', () => {
    const answers: Record<string, readonly string[]> = JSON.parse(
      '{"__proto__":["x"],"constructor":["y"],"toString":[]}',
    );
    const { value } = decodeEvent(encodeEvent({ type: 'question_answered', run_id: 'r', tool_call_id: 't', answers }));
    expect(JSON.stringify(value)).toContain('"__proto__":["x"]');
    expect(JSON.parse(JSON.stringify(value)).answers).toEqual(answers);
    expect(Object.getPrototypeOf({})).not.toHaveProperty('0');
  });
});

describe('text', () => {
  const back = (text: string): unknown => {
    const { value } = decodeEvent(encodeEvent({ type: 'run_interrupted', run_id: text }));
    return value.type === 'run_interrupted' ? value.run_id : undefined;
  };

  it.each([
    ['NUL', 'a\0b'],
    ['a leading byte order mark', '\ufeffa'],
    ['a replacement character', 'a\ufffdb'],
    ['line separators', 'a\u2028b\u2029c\r\n'],
    ['astral characters', '👩‍👩‍👧 𝒳'],
    ['a long text', 'é👍x'.repeat(50_000)],
  ])('keeps %s', (_, text) => {
    expect(back(text)).toBe(text);
  });

  it('turns lone surrogates into U+FFFD, each one', () => {
    expect(back('a\ud800b\udc00')).toBe('a\ufffdb\ufffd');
    expect(back(`${'x'.repeat(600)}\ud800`)).toBe(`${'x'.repeat(600)}\ufffd`);
  });
});

describe('a value that does not fit', () => {
  it('is refused when it is written', () => {
    for (const duration_ms of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      const event: HarnessEvent = {
        type: 'tool_call_completed',
        run_id: '',
        tool_call_id: '',
        tool_name: '',
        ok: true,
        duration_ms,
      };
      expect(codeOf(() => encodeEvent(event))).toBe('bad_number');
    }
    for (const grace_secs of [-1, 1.5, 2 ** 32]) {
      expect(codeOf(() => encodeCommand({ type: 'shutdown', grace_secs }))).toBe('bad_number');
    }
    for (const session_id of ['', 'x', `${ATTACH_GOLDEN.value.session_id}0`, '0198c0de12347abc8def00112233aabb']) {
      expect(codeOf(() => encodeAttach({ ...ATTACH_GOLDEN.value, session_id }))).toBe('bad_uuid');
    }
    expect(codeOf(() => decodeAttach(bytesOf(`0f00000000000000 ${'00'.repeat(15)} 0000000000000000`)))).toBe(
      'bad_uuid',
    );
  });
});
