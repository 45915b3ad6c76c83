// Any value there is comes back as it went in.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type Answers,
  decodeAttach,
  decodeAttachAck,
  decodeCommand,
  decodeEvent,
  decodeHarnessFrame,
  encodeAttach,
  encodeAttachAck,
  encodeCommand,
  encodeEvent,
  FrameReader,
  frameCommand,
  frameEvent,
  type HarnessCommand,
  type HarnessEvent,
} from '../src/index.js';

const text = fc.string({ unit: 'binary', maxLength: 30 });
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const u64 = fc.oneof(fc.maxSafeNat(), fc.nat(3));
const flag = fc.boolean();
const texts = fc.array(text, { maxLength: 4 });
const question = fc.record({
  question: text,
  header: text,
  multi_select: flag,
  options: fc.array(fc.record({ label: text, description: text }), { maxLength: 4 }),
});
const questions = fc.array(question, { maxLength: 3 });
const answers: fc.Arbitrary<Answers> = fc
  .array(fc.tuple(fc.oneof(text, fc.constantFrom('__proto__', 'constructor', '\0', '\ufeff')), texts), { maxLength: 4 })
  .map((entries) => {
    const map: Record<string, readonly string[]> = Object.create(null);
    for (const [key, value] of entries) map[key] = value;
    return map;
  });
const change = fc.oneof(
  fc.record({ type: fc.constant('write' as const), content: text }),
  fc.record({
    type: fc.constant('edit' as const),
    hunks: fc.array(fc.record({ old: text, new: text }), { maxLength: 3 }),
  }),
  fc.record({
    type: fc.constant('patch' as const),
    kind: fc.constantFrom('create' as const, 'update' as const, 'overwrite' as const),
    hunks: fc.array(fc.record({ old_start: u32, old_lines: u32, new_start: u32, new_lines: u32, lines: texts }), {
      maxLength: 3,
    }),
    additions: u64,
    deletions: u64,
    approximate: flag,
  }),
);
const of = <T extends string>(type: T) => fc.constant(type);

/** Each record leaves its optional fields out at random. */
const event: fc.Arbitrary<HarnessEvent> = fc.oneof(
  fc.record(
    { type: of('run_started'), run_id: text, prompt_summary: text, prompt_id: text },
    { requiredKeys: ['type', 'run_id'] },
  ),
  fc.record(
    {
      type: of('agent_message'),
      run_id: text,
      message_id: text,
      role: fc.constantFrom('assistant' as const, 'user' as const, 'system' as const),
      text,
      truncated_bytes: u64,
    },
    { requiredKeys: ['type', 'run_id', 'message_id', 'role', 'text'] },
  ),
  fc.record(
    {
      type: of('tool_call_started'),
      run_id: text,
      tool_call_id: text,
      tool_name: text,
      args_summary: text,
      truncated_bytes: u64,
      parent_tool_call_id: text,
    },
    { requiredKeys: ['type', 'run_id', 'tool_call_id', 'tool_name'] },
  ),
  fc.record(
    {
      type: of('tool_call_completed'),
      run_id: text,
      tool_call_id: text,
      tool_name: text,
      ok: flag,
      duration_ms: u64,
      result_summary: text,
      truncated_bytes: u64,
      images: fc.array(fc.record({ attachment_id: text, media_type: text, size: u64 }), { maxLength: 3 }),
    },
    { requiredKeys: ['type', 'run_id', 'tool_call_id', 'tool_name', 'ok', 'duration_ms'] },
  ),
  fc.record(
    { type: of('agent_thought'), run_id: text, message_id: text, text, truncated_bytes: u64 },
    { requiredKeys: ['type', 'run_id', 'message_id', 'text'] },
  ),
  fc.record({ type: of('run_completed'), run_id: text, ok: flag }),
  fc.record({ type: of('run_interrupted'), run_id: text }),
  fc.record({ type: of('harness_idle') }),
  fc.record({ type: of('prompt_queued'), prompt_id: text, summary: text }, { requiredKeys: ['type', 'prompt_id'] }),
  fc.record({ type: of('prompt_edited'), prompt_id: text, summary: text }, { requiredKeys: ['type', 'prompt_id'] }),
  fc.record({ type: of('prompt_dequeued'), prompt_id: text }),
  fc.record({ type: of('agent_message_chunk'), run_id: text, message_id: text, chunk: text }),
  fc.record(
    {
      type: of('user_question'),
      run_id: text,
      tool_call_id: text,
      questions,
      option_previews: fc.array(texts, { maxLength: 3 }),
    },
    { requiredKeys: ['type', 'run_id', 'tool_call_id', 'questions'] },
  ),
  fc.record({ type: of('question_answered'), run_id: text, tool_call_id: text, answers }),
  fc.record(
    {
      type: of('file_changed'),
      run_id: text,
      tool_call_id: text,
      path: text,
      change,
      truncation: fc.record({ dropped_hunks: u64, dropped_bytes: u64 }),
    },
    { requiredKeys: ['type', 'run_id', 'tool_call_id', 'path', 'change'] },
  ),
  fc.record({ type: of('question_dismissed'), run_id: text, tool_call_id: text, reason: text }),
  fc.record(
    {
      type: of('usage'),
      run_id: text,
      input_tokens: u64,
      output_tokens: u64,
      cache_read_tokens: u64,
      cache_write_tokens: u64,
      cost_micro_usd: u64,
    },
    { requiredKeys: ['type', 'run_id', 'input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens'] },
  ),
  fc.record(
    {
      type: of('notice'),
      level: fc.constantFrom('info' as const, 'warning' as const, 'error' as const),
      code: text,
      message: text,
      run_id: text,
      tool_call_id: text,
    },
    { requiredKeys: ['type', 'level', 'code', 'message'] },
  ),
  fc.record({
    type: of('unknown'),
    index: fc.integer({ min: 18, max: 0xffff_ffff }),
    bytes: fc.uint8Array({ maxLength: 30 }),
  }),
);

const command: fc.Arbitrary<HarnessCommand> = fc.oneof(
  fc.record({
    type: of('checkpoint'),
    reason: fc.constantFrom('idle' as const, 'preempt' as const, 'manual' as const, 'run_completed' as const),
  }),
  fc.record({ type: of('shutdown'), grace_secs: u32 }),
  fc.record(
    { type: of('prompt'), text, prompt_id: text, trace_parent: text },
    { requiredKeys: ['type', 'text', 'prompt_id'] },
  ),
  fc.record({ type: of('interrupt') }),
  fc.record({ type: of('rehandshake') }),
  fc.record({ type: of('edit_queued'), prompt_id: text, text }),
  fc.record({ type: of('dequeue_queued'), prompt_id: text }),
  fc.record({ type: of('answer_question'), tool_call_id: text, answers }),
  fc.record({ type: of('dismiss_question'), tool_call_id: text, reason: text }),
  fc.record({ type: of('attend_question'), tool_call_id: text, hold_ms: u32 }),
  fc.record({
    type: of('reconcile'),
    open: fc.array(fc.record({ tool_call_id: text, questions }), { maxLength: 3 }),
    closed: texts,
  }),
  fc.record({ type: of('acknowledge'), stored_seq: u64 }),
  fc.record({
    type: of('unknown'),
    index: fc.integer({ min: 12, max: 0xffff_ffff }),
    bytes: fc.uint8Array({ maxLength: 30 }),
  }),
);

const runs = { numRuns: 1500 };

it('gives every event back, alone and framed', () => {
  fc.assert(
    fc.property(event, (value) => {
      const body = encodeEvent(value);
      expect(decodeEvent(body)).toEqual({ value, ignoredBytes: 0 });
      const [frame] = new FrameReader().push(frameEvent(value));
      expect(decodeHarnessFrame(frame ?? new Uint8Array()).value).toEqual({ type: 'event', event: value });
      expect(encodeEvent(decodeEvent(body).value)).toEqual(body);
    }),
    runs,
  );
});

it('gives every command back, alone and framed', () => {
  fc.assert(
    fc.property(command, (value) => {
      expect(decodeCommand(encodeCommand(value))).toEqual({ value, ignoredBytes: 0 });
      const [frame] = new FrameReader().push(frameCommand(value));
      expect(decodeHarnessFrame(frame ?? new Uint8Array()).value).toEqual({ type: 'command', command: value });
    }),
    runs,
  );
});

it('gives every handshake back', () => {
  const attach = fc.record({
    session_id: fc.uuid(),
    harness_version: text,
    attach_token: text,
    epoch: u64,
    last_event_seq: u64,
  });
  const ack = fc.record({ ok: flag, message: text, last_stored_seq: u64 }, { requiredKeys: ['ok', 'last_stored_seq'] });
  fc.assert(
    fc.property(attach, (value) => {
      expect(decodeAttach(encodeAttach(value)).value).toEqual(value);
    }),
  );
  fc.assert(
    fc.property(ack, (value) => {
      expect(decodeAttachAck(encodeAttachAck(value)).value).toEqual(value);
    }),
  );
});

it('gives random bytes no way but a value or a ProtoError', () => {
  fc.assert(
    fc.property(fc.nat(18), fc.uint8Array({ maxLength: 200 }), (index, rest) => {
      const body = Uint8Array.of(index, 0, 0, 0, ...rest);
      for (const decode of [decodeEvent, decodeCommand, decodeAttach, decodeAttachAck, decodeHarnessFrame]) {
        try {
          decode(body);
        } catch (error) {
          expect(error).toHaveProperty('name', 'ProtoError');
        }
      }
    }),
    runs,
  );
});
