// Both directions of a version skew: a newer peer against this code, and this code against a peer
// of the wire's first release, which is simulated here by a decoder of its own.
import { describe, expect, it } from 'vitest';
import {
  decodeCommand,
  decodeEvent,
  decodeHarnessFrame,
  encodeCommand,
  encodeEvent,
  encodeHarnessFrame,
} from '../src/index.js';
import { bytesOf, COMMAND_GOLDENS, EVENT_GOLDENS, hexOf, plainHex } from './goldens.js';

const u32 = (value: number): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes.toString('hex');
};
const str = (value: string): string => {
  const length = Buffer.alloc(8);
  length.writeUInt32LE(Buffer.byteLength(value));
  return length.toString('hex') + Buffer.from(value).toString('hex');
};
const empty = '0000000000000000';

describe('a newer peer', () => {
  it.each([18, 19, 0xffff_ffff])('sends event %i: kept and passed on byte for byte', (index) => {
    const hex = `${u32(index)}00ff80feedface`;
    const { value } = decodeEvent(bytesOf(hex));
    expect(value).toEqual({ type: 'unknown', index, bytes: bytesOf('00ff80feedface') });
    expect(hexOf(encodeEvent(value))).toBe(hex);
  });

  it.each([12, 99])('sends command %i: kept and passed on byte for byte', (index) => {
    const { value } = decodeCommand(bytesOf(`${u32(index)}c0ffee`));
    expect(value).toEqual({ type: 'unknown', index, bytes: bytesOf('c0ffee') });
    expect(hexOf(encodeCommand(value))).toBe(`${u32(index)}c0ffee`);
  });

  it.each([
    ['a role', `${u32(1)}${str('r1')}${str('m1')}${u32(3)}${str('x')}`, 1],
    ['a kind of change', `${u32(13)}${str('r1')}${str('t1')}${str('a.txt')}${u32(3)}dead`, 13],
    ['a kind of patch', `${u32(13)}${str('r1')}${str('t1')}${str('a.txt')}${u32(2)}${u32(3)}${empty}`, 13],
    ['a notice level', `${u32(16)}${u32(3)}${str('code')}${str('m')}0000`, 16],
  ])('uses %s that is unknown here: the whole event is kept', (_, hex, index) => {
    const { value, ignoredBytes } = decodeEvent(bytesOf(hex));
    expect(value).toMatchObject({ type: 'unknown', index });
    expect(ignoredBytes).toBe(0);
    expect(hexOf(encodeEvent(value))).toBe(hex);
    const frame = decodeHarnessFrame(bytesOf(`00000000${hex}`)).value;
    expect(hexOf(encodeHarnessFrame(frame))).toBe(`00000000${hex}`);
  });

  it('gives a checkpoint reason that is unknown here: the whole command is kept', () => {
    const hex = `${u32(0)}${u32(4)}ab`;
    expect(hexOf(encodeCommand(decodeCommand(bytesOf(hex)).value))).toBe(hex);
    expect(decodeCommand(bytesOf(hex)).value.type).toBe('unknown');
  });

  it('sends a frame arm that is unknown here: the link goes on', () => {
    const frame = decodeHarnessFrame(bytesOf(`${u32(2)}0102`)).value;
    expect(frame).toEqual({ type: 'unknown', index: 2, bytes: bytesOf('0102') });
    expect(hexOf(encodeHarnessFrame(frame))).toBe(`${u32(2)}0102`);
  });

  it('keeps an unknown event apart from the memory it came in', () => {
    const body = bytesOf(`${u32(40)}01`);
    const { value } = decodeEvent(body);
    body.fill(0);
    expect(value).toMatchObject({ bytes: bytesOf('01') });
  });

  // variants with trailing fields of their own: their last one is set, so what follows is newer still
  const complete = EVENT_GOLDENS.filter(
    ({ value }) =>
      ![
        'agent_message',
        'agent_thought',
        'tool_call_started',
        'tool_call_completed',
        'user_question',
        'file_changed',
      ].includes(value.type) ||
      'parent_tool_call_id' in value ||
      ((value.type === 'agent_message' || value.type === 'agent_thought') && 'truncated_bytes' in value) ||
      'images' in value ||
      'option_previews' in value ||
      'truncation' in value,
  );
  it.each(complete)('appends a field to $name: ignored and counted', ({ value, hex }) => {
    expect(decodeEvent(bytesOf(`${hex}01${str('new')}`))).toEqual({ value, ignoredBytes: 12 });
  });
  const completeCommands = COMMAND_GOLDENS.filter(
    ({ value }) => !['prompt', 'answer_question', 'dismiss_question'].includes(value.type) || 'trace_parent' in value,
  );
  it.each(completeCommands)('appends a field to the command $name: ignored and counted', ({ value, hex }) => {
    expect(decodeCommand(bytesOf(`${hex}00`))).toEqual({ value, ignoredBytes: 1 });
  });

  it('leaves the trace of a command empty in order to set a field of its own', () => {
    const plain = COMMAND_GOLDENS.find(({ name }) => name === 'prompt');
    expect(decodeCommand(bytesOf(`${plain?.hex}0001${str('new')}`))).toEqual({ value: plain?.value, ignoredBytes: 12 });
  });

  it('leaves our trailing fields empty in order to set one of its own', () => {
    const plain = EVENT_GOLDENS.find(({ name }) => name === 'tool_call_started');
    expect(decodeEvent(bytesOf(`${plain?.hex}0000${'01'}${str('new')}`))).toEqual({
      value: plain?.value,
      ignoredBytes: 12,
    });
  });
});

/** A peer of the first release: variants 0–13, change arms 0 and 1, no trailing field. */
function decodeAsFirstRelease(body: Uint8Array): { readonly fields: unknown; readonly ignored: number } | 'unknown' {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  let at = 0;
  const skip = (size: number): number => {
    at += size;
    return at - size;
  };
  const int = (): number => view.getUint32(skip(4), true);
  const long = (): number => Number(view.getBigUint64(skip(8), true));
  const flag = (): boolean => view.getUint8(skip(1)) === 1;
  const text = (): string => {
    const length = long();
    return new TextDecoder().decode(body.subarray(skip(length), at));
  };
  const many = <T>(read: () => T): T[] => Array.from({ length: long() }, read);
  const maybe = (): string | undefined => (flag() ? text() : undefined);
  const read = (): unknown => {
    switch (int()) {
      case 0:
        return [text(), maybe(), maybe()];
      case 1: {
        const head = [text(), text(), int()];
        return Number(head[2]) > 2 ? 'unknown' : [...head, text()];
      }
      case 2:
        return [text(), text(), text(), maybe()];
      case 3:
        return [text(), text(), text(), flag(), long(), maybe()];
      case 4:
        return [text(), flag()];
      case 5:
      case 9:
        return [text()];
      case 6:
        return [];
      case 7:
      case 8:
        return [text(), maybe()];
      case 10:
        return [text(), text(), text()];
      case 11:
        return [text(), text(), many(() => [text(), text(), flag(), many(() => [text(), text()])])];
      case 12:
        return [text(), text(), many(() => [text(), many(text)])];
      case 13: {
        const head = [text(), text(), text()];
        const arm = int();
        if (arm === 0) return [...head, text()];
        return arm === 1 ? [...head, many(() => [text(), text()])] : 'unknown';
      }
      default:
        return 'unknown';
    }
  };
  const fields = read();
  return fields === 'unknown' ? 'unknown' : { fields, ignored: body.length - at };
}

/** All strings, numbers and booleans in a value, map keys included. */
function leaves(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  const keys = Array.isArray(value) || !Object.keys(value).some((key) => key.endsWith('?')) ? [] : Object.keys(value);
  return [...keys, ...Object.values(value).flatMap((item) => leaves(item))];
}

describe('a peer of the first release', () => {
  it.each(EVENT_GOLDENS)('reads our $name, ignores what was appended, or keeps it as unknown', ({ value, hex }) => {
    const seen = decodeAsFirstRelease(bytesOf(hex));
    const newVariant = ['question_dismissed', 'usage', 'notice', 'agent_thought'].includes(value.type);
    const newArm = value.type === 'file_changed' && value.change.type === 'patch';
    if (newVariant || newArm) {
      expect(seen).toBe('unknown');
      return;
    }
    if (seen === 'unknown') throw new Error('a first release variant must be read');
    const appended = ['truncated_bytes', 'parent_tool_call_id', 'images', 'option_previews', 'truncation'];
    expect(seen.ignored > 0).toBe(appended.some((name) => name in value));
    const known = Object.entries(value).filter(([name]) => ![...appended, 'type', 'role', 'change'].includes(name));
    const told = leaves(seen.fields);
    for (const leaf of leaves(known.map(([, field]) => field))) expect(told).toContain(leaf);
  });

  it('sends events without the appended fields: they read as absent', () => {
    for (const { hex, value } of EVENT_GOLDENS.filter((golden) => golden.name === 'user_question')) {
      expect(decodeEvent(bytesOf(hex)).value).toEqual(value);
      expect('option_previews' in decodeEvent(bytesOf(hex)).value).toBe(false);
    }
  });

  it('gets the very same bytes as ever when no appended field is set', () => {
    for (const golden of EVENT_GOLDENS.filter(({ value }) => value.type === 'tool_call_started')) {
      if (golden.value.type !== 'tool_call_started') continue;
      const { truncated_bytes: _cut, parent_tool_call_id: _parent, ...plain } = golden.value;
      expect(plainHex(golden).startsWith(hexOf(encodeEvent(plain)))).toBe(true);
    }
  });
});
