import { describe, expect, it } from 'vitest';
import {
  COMMAND_TYPES,
  decodeAttach,
  decodeAttachAck,
  decodeCommand,
  decodeEvent,
  decodeHarnessFrame,
  EVENT_TYPES,
  encodeAttach,
  encodeAttachAck,
  encodeCommand,
  encodeEvent,
  encodeFrame,
  encodeHarnessFrame,
  frameCommand,
  frameEvent,
} from '../src/index.js';
import {
  ACK_GOLDENS,
  ATTACH_GOLDEN,
  bytesOf,
  COMMAND_FRAME_HEX,
  COMMAND_GOLDENS,
  EVENT_FRAME_BODY_HEX,
  EVENT_GOLDENS,
  FIRST_ACK_HEX,
  FIRST_ATTACH_HEX,
  hexOf,
  plainHex,
} from './goldens.js';

describe('events', () => {
  it.each(EVENT_GOLDENS)('writes and reads $name', (golden) => {
    expect(hexOf(encodeEvent(golden.value))).toBe(plainHex(golden));
    expect(decodeEvent(bytesOf(golden.hex))).toEqual({ value: golden.value, ignoredBytes: 0 });
  });

  it('keep their indices', () => {
    expect(EVENT_TYPES.map((type, index) => [index, type])).toEqual([
      [0, 'run_started'],
      [1, 'agent_message'],
      [2, 'tool_call_started'],
      [3, 'tool_call_completed'],
      [4, 'run_completed'],
      [5, 'run_interrupted'],
      [6, 'harness_idle'],
      [7, 'prompt_queued'],
      [8, 'prompt_edited'],
      [9, 'prompt_dequeued'],
      [10, 'agent_message_chunk'],
      [11, 'user_question'],
      [12, 'question_answered'],
      [13, 'file_changed'],
      [14, 'question_dismissed'],
      [15, 'usage'],
      [16, 'notice'],
      [17, 'agent_thought'],
    ]);
  });

  it('have a golden each, under their index', () => {
    const seen = new Set(EVENT_GOLDENS.map(({ hex, value }) => `${bytesOf(hex)[0]} ${value.type}`));
    expect([...seen].sort()).toEqual(EVENT_TYPES.map((type, index) => `${index} ${type}`).sort());
  });
});

describe('commands', () => {
  it.each(COMMAND_GOLDENS)('writes and reads $name', (golden) => {
    expect(hexOf(encodeCommand(golden.value))).toBe(plainHex(golden));
    expect(decodeCommand(bytesOf(golden.hex))).toEqual({ value: golden.value, ignoredBytes: 0 });
  });

  it('keep their indices', () => {
    expect(COMMAND_TYPES.map((type, index) => [index, type])).toEqual([
      [0, 'checkpoint'],
      [1, 'shutdown'],
      [2, 'prompt'],
      [3, 'interrupt'],
      [4, 'rehandshake'],
      [5, 'edit_queued'],
      [6, 'dequeue_queued'],
      [7, 'answer_question'],
      [8, 'dismiss_question'],
      [9, 'attend_question'],
      [10, 'reconcile'],
      [11, 'acknowledge'],
    ]);
  });

  it('have a golden each, under their index', () => {
    const seen = new Set(COMMAND_GOLDENS.map(({ hex, value }) => `${bytesOf(hex)[0]} ${value.type}`));
    expect([...seen].sort()).toEqual(COMMAND_TYPES.map((type, index) => `${index} ${type}`).sort());
  });
});

describe('the handshake', () => {
  it('writes and reads an attach', () => {
    expect(hexOf(encodeAttach(ATTACH_GOLDEN.value))).toBe(ATTACH_GOLDEN.hex);
    expect(decodeAttach(bytesOf(ATTACH_GOLDEN.hex))).toEqual({ value: ATTACH_GOLDEN.value, ignoredBytes: 0 });
  });

  it.each(ACK_GOLDENS)('writes and reads an ack: $name', (golden) => {
    expect(hexOf(encodeAttachAck(golden.value))).toBe(golden.hex);
    expect(decodeAttachAck(bytesOf(golden.hex))).toEqual({ value: golden.value, ignoredBytes: 0 });
  });

  it('reads the first shape of both, with the appended fields empty', () => {
    expect(decodeAttach(bytesOf(FIRST_ATTACH_HEX)).value).toEqual({
      session_id: ATTACH_GOLDEN.value.session_id,
      harness_version: '0.1.0',
      attach_token: '',
      epoch: 0,
      last_event_seq: 0,
    });
    expect(decodeAttachAck(bytesOf(FIRST_ACK_HEX)).value).toEqual({
      ok: false,
      message: 'unknown_session',
      last_stored_seq: 0,
    });
  });

  it('ignores and counts what a newer peer appends', () => {
    expect(decodeAttach(bytesOf(`${ATTACH_GOLDEN.hex}0102`))).toEqual({ value: ATTACH_GOLDEN.value, ignoredBytes: 2 });
    for (const { hex, value } of ACK_GOLDENS) {
      expect(decodeAttachAck(bytesOf(`${hex}ffff`))).toEqual({ value, ignoredBytes: 2 });
    }
  });
});

describe('frames', () => {
  const event = { type: 'run_started', run_id: 'r1', prompt_summary: 'fix the tests', prompt_id: 'p1' } as const;

  it('puts arm 0 before an event and arm 1 before a command', () => {
    expect(hexOf(encodeHarnessFrame({ type: 'event', event }))).toBe(EVENT_FRAME_BODY_HEX);
    expect(decodeHarnessFrame(bytesOf(EVENT_FRAME_BODY_HEX)).value).toEqual({ type: 'event', event });
    expect(hexOf(frameCommand({ type: 'interrupt' }))).toBe(COMMAND_FRAME_HEX);
    expect(decodeHarnessFrame(bytesOf(COMMAND_FRAME_HEX).subarray(4)).value).toEqual({
      type: 'command',
      command: { type: 'interrupt' },
    });
  });

  it('is the same whether its body was encoded apart or in place', () => {
    for (const { value } of EVENT_GOLDENS) {
      expect(hexOf(frameEvent(value))).toBe(hexOf(encodeFrame(encodeHarnessFrame({ type: 'event', event: value }))));
    }
  });
});
