// The wire, byte for byte. These literals never change; a new field or variant adds a line. They
// were not made by the codec under test. Spaces only help the eye: index, then the fields.

import type {
  HarnessAttach,
  HarnessAttachAck,
  KnownHarnessCommand,
  KnownHarnessEvent,
  Question,
} from '../src/index.js';

export interface Golden<T> {
  readonly name: string;
  readonly value: T;
  readonly hex: string;
}

export const QUESTIONS: readonly Question[] = [
  {
    question: 'Which languages?',
    header: 'Languages',
    multi_select: true,
    options: [
      { label: 'Python', description: 'snek' },
      { label: 'Rust', description: 'crab' },
    ],
  },
  {
    question: 'Which editor?',
    header: 'Editor',
    multi_select: false,
    options: [{ label: 'VS Code', description: 'the one' }],
  },
];
export const ANSWERS = { 'Which languages?': ['Python', 'Rust'], 'Which editor?': ['VS Code'] };

export const EVENT_GOLDENS: readonly Golden<KnownHarnessEvent>[] = [
  {
    name: 'run_started with both options',
    value: { type: 'run_started', run_id: 'r1', prompt_summary: 'fix the tests', prompt_id: 'p1' },
    hex: '00000000 02000000000000007231010d00000000000000666978207468652074657374730102000000000000007031',
  },
  {
    name: 'run_started without options',
    value: { type: 'run_started', run_id: 'r1' },
    hex: '00000000 020000000000000072310000',
  },
  {
    name: 'agent_message assistant',
    value: { type: 'agent_message', run_id: 'r1', message_id: 'm1', role: 'assistant', text: 'héllo' },
    hex: '01000000 0200000000000000723102000000000000006d3100000000060000000000000068c3a96c6c6f',
  },
  {
    name: 'agent_message user',
    value: { type: 'agent_message', run_id: 'r1', message_id: 'm1', role: 'user', text: '' },
    hex: '01000000 0200000000000000723102000000000000006d31010000000000000000000000',
  },
  {
    name: 'agent_message system, truncated',
    value: { type: 'agent_message', run_id: 'r1', message_id: 'm1', role: 'system', text: 'x', truncated_bytes: 300 },
    hex: '01000000 0200000000000000723102000000000000006d3102000000010000000000000078012c01000000000000',
  },
  {
    name: 'tool_call_started',
    value: { type: 'tool_call_started', run_id: 'r1', tool_call_id: 'toolu_1', tool_name: 'Bash', args_summary: 'ls' },
    hex: '02000000 020000000000000072310700000000000000746f6f6c755f310400000000000000426173680102000000000000006c73',
  },
  {
    name: 'tool_call_started, truncated',
    value: {
      type: 'tool_call_started',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      tool_name: 'Bash',
      args_summary: 'ls',
      truncated_bytes: 7,
    },
    hex: '02000000 020000000000000072310700000000000000746f6f6c755f310400000000000000426173680102000000000000006c73010700000000000000',
  },
  {
    name: 'tool_call_started by a subagent, not truncated',
    value: {
      type: 'tool_call_started',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      tool_name: 'Bash',
      parent_tool_call_id: 'toolu_0',
    },
    hex: '02000000 020000000000000072310700000000000000746f6f6c755f310400000000000000426173680000010700000000000000746f6f6c755f30',
  },
  {
    name: 'tool_call_completed',
    value: {
      type: 'tool_call_completed',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      tool_name: 'Bash',
      ok: true,
      duration_ms: 1234,
      result_summary: 'done',
    },
    hex: '03000000 020000000000000072310700000000000000746f6f6c755f3104000000000000004261736801d204000000000000010400000000000000646f6e65',
  },
  {
    name: 'tool_call_completed failed, truncated',
    value: {
      type: 'tool_call_completed',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      tool_name: 'Bash',
      ok: false,
      duration_ms: 9007199254740991,
      truncated_bytes: 1,
    },
    hex: '03000000 020000000000000072310700000000000000746f6f6c755f3104000000000000004261736800ffffffffffff1f0000010100000000000000',
  },
  {
    name: 'tool_call_completed with an image',
    value: {
      type: 'tool_call_completed',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      tool_name: 'Read',
      ok: true,
      duration_ms: 7,
      result_summary: '[image]',
      images: [{ attachment_id: 'ab', media_type: 'image/png', size: 70 }],
    },
    hex: '03000000 020000000000000072310700000000000000746f6f6c755f31040000000000000052656164010700000000000000010700000000000000 5b696d6167655d 00 01 0100000000000000 02000000000000006162 0900000000000000696d6167652f706e67 4600000000000000',
  },
  {
    name: 'run_completed',
    value: { type: 'run_completed', run_id: 'r1', ok: true },
    hex: '04000000 0200000000000000723101',
  },
  { name: 'run_interrupted', value: { type: 'run_interrupted', run_id: 'r1' }, hex: '05000000 02000000000000007231' },
  { name: 'harness_idle', value: { type: 'harness_idle' }, hex: '06000000' },
  {
    name: 'prompt_queued',
    value: { type: 'prompt_queued', prompt_id: 'p1', summary: 'later' },
    hex: '07000000 020000000000000070310105000000000000006c61746572',
  },
  { name: 'prompt_edited', value: { type: 'prompt_edited', prompt_id: 'p1' }, hex: '08000000 0200000000000000703100' },
  {
    name: 'prompt_dequeued',
    value: { type: 'prompt_dequeued', prompt_id: 'p1' },
    hex: '09000000 02000000000000007031',
  },
  {
    name: 'agent_message_chunk',
    value: { type: 'agent_message_chunk', run_id: 'r1', message_id: 'm1', chunk: 'hel' },
    hex: '0a000000 0200000000000000723102000000000000006d31030000000000000068656c',
  },
  {
    name: 'user_question',
    value: { type: 'user_question', run_id: 'r1', tool_call_id: 'toolu_1', questions: QUESTIONS },
    hex: '0b000000 020000000000000072310700000000000000746f6f6c755f31020000000000000010000000000000005768696368206c616e6775616765733f09000000000000004c616e6775616765730102000000000000000600000000000000507974686f6e0400000000000000736e656b0400000000000000527573740400000000000000637261620d00000000000000576869636820656469746f723f0600000000000000456469746f720001000000000000000700000000000000565320436f64650700000000000000746865206f6e65',
  },
  {
    name: 'user_question with previews',
    value: {
      type: 'user_question',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      questions: QUESTIONS,
      option_previews: [['print()', ''], ['']],
    },
    hex: '0b000000 020000000000000072310700000000000000746f6f6c755f31020000000000000010000000000000005768696368206c616e6775616765733f09000000000000004c616e6775616765730102000000000000000600000000000000507974686f6e0400000000000000736e656b0400000000000000527573740400000000000000637261620d00000000000000576869636820656469746f723f0600000000000000456469746f720001000000000000000700000000000000565320436f64650700000000000000746865206f6e65010200000000000000020000000000000007000000000000007072696e742829000000000000000001000000000000000000000000000000',
  },
  {
    name: 'question_answered',
    value: { type: 'question_answered', run_id: 'r1', tool_call_id: 'toolu_1', answers: ANSWERS },
    hex: '0c000000 020000000000000072310700000000000000746f6f6c755f3102000000000000000d00000000000000576869636820656469746f723f01000000000000000700000000000000565320436f646510000000000000005768696368206c616e6775616765733f02000000000000000600000000000000507974686f6e040000000000000052757374',
  },
  {
    name: 'file_changed write',
    value: {
      type: 'file_changed',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      path: 'a.txt',
      change: { type: 'write', content: 'one\n' },
    },
    hex: '0d000000 020000000000000072310700000000000000746f6f6c755f310500000000000000612e7478740000000004000000000000006f6e650a',
  },
  {
    name: 'file_changed edit',
    value: {
      type: 'file_changed',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      path: 'src/main.rs',
      change: {
        type: 'edit',
        hunks: [
          { old: 'let x = 1;', new: 'let x = 2;' },
          { old: '', new: '// added' },
        ],
      },
    },
    hex: '0d000000 020000000000000072310700000000000000746f6f6c755f310b000000000000007372632f6d61696e2e72730100000002000000000000000a000000000000006c65742078203d20313b0a000000000000006c65742078203d20323b000000000000000008000000000000002f2f206164646564',
  },
  {
    name: 'file_changed patch update',
    value: {
      type: 'file_changed',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      path: 'a.txt',
      change: {
        type: 'patch',
        kind: 'update',
        hunks: [{ old_start: 1, old_lines: 2, new_start: 1, new_lines: 2, lines: [' one', '-two', '+TWO'] }],
        additions: 1,
        deletions: 1,
        approximate: false,
      },
    },
    hex: '0d000000 020000000000000072310700000000000000746f6f6c755f310500000000000000612e747874020000000100000001000000000000000100000002000000010000000200000003000000000000000400000000000000206f6e6504000000000000002d74776f04000000000000002b54574f0100000000000000010000000000000000',
  },
  {
    name: 'file_changed patch create, nothing kept',
    value: {
      type: 'file_changed',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      path: 'a.txt',
      change: { type: 'patch', kind: 'create', hunks: [], additions: 3, deletions: 0, approximate: false },
      truncation: { dropped_hunks: 2, dropped_bytes: 70000 },
    },
    hex: '0d000000 020000000000000072310700000000000000746f6f6c755f310500000000000000612e7478740200000000000000000000000000000003000000000000000000000000000000000102000000000000007011010000000000',
  },
  {
    name: 'file_changed patch overwrite, estimated',
    value: {
      type: 'file_changed',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
      path: 'a.txt',
      change: { type: 'patch', kind: 'overwrite', hunks: [], additions: 4294967296, deletions: 5, approximate: true },
    },
    hex: '0d000000 020000000000000072310700000000000000746f6f6c755f310500000000000000612e747874020000000200000000000000000000000000000001000000050000000000000001',
  },
  {
    name: 'question_dismissed',
    value: { type: 'question_dismissed', run_id: 'r1', tool_call_id: 'toolu_1', reason: 'declined' },
    hex: '0e000000 020000000000000072310700000000000000746f6f6c755f3108000000000000006465636c696e6564',
  },
  {
    name: 'usage priced',
    value: {
      type: 'usage',
      run_id: 'r1',
      input_tokens: 10,
      output_tokens: 20,
      cache_read_tokens: 30,
      cache_write_tokens: 40,
      cost_micro_usd: 1500,
    },
    hex: '0f000000 020000000000000072310a0000000000000014000000000000001e00000000000000280000000000000001dc05000000000000',
  },
  {
    name: 'usage without a price',
    value: {
      type: 'usage',
      run_id: 'r1',
      input_tokens: 0,
      output_tokens: 0,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
    },
    hex: '0f000000 02000000000000007231000000000000000000000000000000000000000000000000000000000000000000',
  },
  {
    name: 'notice info',
    value: { type: 'notice', level: 'info', code: 'permission_policy', message: 'm' },
    hex: '10000000 0000000011000000000000007065726d697373696f6e5f706f6c69637901000000000000006d0000',
  },
  {
    name: 'notice warning',
    value: {
      type: 'notice',
      level: 'warning',
      code: 'hook_unhealthy',
      message: 'm',
      run_id: 'r1',
      tool_call_id: 'toolu_1',
    },
    hex: '10000000 010000000e00000000000000686f6f6b5f756e6865616c74687901000000000000006d0102000000000000007231010700000000000000746f6f6c755f31',
  },
  {
    name: 'notice error',
    value: { type: 'notice', level: 'error', code: 'context_lost', message: 'm', tool_call_id: 'toolu_1' },
    hex: '10000000 020000000c00000000000000636f6e746578745f6c6f737401000000000000006d00010700000000000000746f6f6c755f31',
  },
  {
    name: 'agent_thought',
    value: { type: 'agent_thought', run_id: 'r1', message_id: 'm1', text: 'hm' },
    hex: '11000000 02000000000000007231 02000000000000006d31 0200000000000000686d',
  },
  {
    name: 'agent_thought truncated',
    value: { type: 'agent_thought', run_id: 'r1', message_id: 'm1', text: '', truncated_bytes: 3 },
    hex: '11000000 02000000000000007231 02000000000000006d31 0000000000000000 01 0300000000000000',
  },
];

export const COMMAND_GOLDENS: readonly Golden<KnownHarnessCommand>[] = [
  { name: 'checkpoint idle', value: { type: 'checkpoint', reason: 'idle' }, hex: '00000000 00000000' },
  { name: 'checkpoint preempt', value: { type: 'checkpoint', reason: 'preempt' }, hex: '00000000 01000000' },
  { name: 'checkpoint manual', value: { type: 'checkpoint', reason: 'manual' }, hex: '00000000 02000000' },
  {
    name: 'checkpoint run_completed',
    value: { type: 'checkpoint', reason: 'run_completed' },
    hex: '00000000 03000000',
  },
  { name: 'shutdown', value: { type: 'shutdown', grace_secs: 10 }, hex: '01000000 0a000000' },
  {
    name: 'prompt',
    value: { type: 'prompt', text: 'fix the tests', prompt_id: 'p1' },
    hex: '02000000 0d000000000000006669782074686520746573747302000000000000007031',
  },
  {
    name: 'prompt with a trace',
    value: {
      type: 'prompt',
      text: 'fix the tests',
      prompt_id: 'p1',
      trace_parent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
    hex: '02000000 0d000000000000006669782074686520746573747302000000000000007031 01 370000000000000030302d30616637363531393136636434336464383434386562323131633830333139632d623761643662373136393230333333312d3031',
  },
  {
    name: 'answer_question with a trace',
    value: {
      type: 'answer_question',
      tool_call_id: 'toolu_1',
      answers: ANSWERS,
      trace_parent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
    hex: '07000000 0700000000000000746f6f6c755f3102000000000000000d00000000000000576869636820656469746f723f01000000000000000700000000000000565320436f646510000000000000005768696368206c616e6775616765733f02000000000000000600000000000000507974686f6e040000000000000052757374 01 370000000000000030302d30616637363531393136636434336464383434386562323131633830333139632d623761643662373136393230333333312d3031',
  },
  {
    name: 'dismiss_question with a trace',
    value: {
      type: 'dismiss_question',
      tool_call_id: 'toolu_1',
      reason: 'declined',
      trace_parent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
    hex: '08000000 0700000000000000746f6f6c755f3108000000000000006465636c696e6564 01 370000000000000030302d30616637363531393136636434336464383434386562323131633830333139632d623761643662373136393230333333312d3031',
  },
  { name: 'interrupt', value: { type: 'interrupt' }, hex: '03000000' },
  { name: 'rehandshake', value: { type: 'rehandshake' }, hex: '04000000' },
  {
    name: 'edit_queued',
    value: { type: 'edit_queued', prompt_id: 'p1', text: 'rather this' },
    hex: '05000000 020000000000000070310b000000000000007261746865722074686973',
  },
  { name: 'dequeue_queued', value: { type: 'dequeue_queued', prompt_id: 'p1' }, hex: '06000000 02000000000000007031' },
  {
    name: 'answer_question',
    value: { type: 'answer_question', tool_call_id: 'toolu_1', answers: ANSWERS },
    hex: '07000000 0700000000000000746f6f6c755f3102000000000000000d00000000000000576869636820656469746f723f01000000000000000700000000000000565320436f646510000000000000005768696368206c616e6775616765733f02000000000000000600000000000000507974686f6e040000000000000052757374',
  },
  {
    name: 'dismiss_question',
    value: { type: 'dismiss_question', tool_call_id: 'toolu_1', reason: 'declined' },
    hex: '08000000 0700000000000000746f6f6c755f3108000000000000006465636c696e6564',
  },
  {
    name: 'attend_question',
    value: { type: 'attend_question', tool_call_id: 'toolu_1', hold_ms: 120000 },
    hex: '09000000 0700000000000000746f6f6c755f31c0d40100',
  },
  {
    name: 'reconcile',
    value: {
      type: 'reconcile',
      open: [{ tool_call_id: 'toolu_1', questions: QUESTIONS.slice(1) }],
      closed: ['toolu_0'],
    },
    hex: '0a000000 01000000000000000700000000000000746f6f6c755f3101000000000000000d00000000000000576869636820656469746f723f0600000000000000456469746f720001000000000000000700000000000000565320436f64650700000000000000746865206f6e6501000000000000000700000000000000746f6f6c755f30',
  },
  { name: 'acknowledge', value: { type: 'acknowledge', stored_seq: 4294967297 }, hex: '0b000000 0100000001000000' },
];

export const ATTACH_GOLDEN: Golden<HarnessAttach> = {
  name: 'attach',
  value: {
    session_id: '0198c0de-1234-7abc-8def-00112233aabb',
    harness_version: '0.1.0',
    attach_token: 's3cret',
    epoch: 3,
    last_event_seq: 41,
  },
  hex: '10000000000000000198c0de12347abc8def00112233aabb0500000000000000302e312e30060000000000000073336372657403000000000000002900000000000000',
};
/** As a peer sends it that knows none of the appended fields. */
export const FIRST_ATTACH_HEX = '10000000000000000198c0de12347abc8def00112233aabb0500000000000000302e312e30';

export const ACK_GOLDENS: readonly Golden<HarnessAttachAck>[] = [
  { name: 'ok', value: { ok: true, last_stored_seq: 40 }, hex: '01002800000000000000' },
  {
    name: 'refused',
    value: { ok: false, message: 'stale_epoch', last_stored_seq: 0 },
    hex: '00010b000000000000007374616c655f65706f63680000000000000000',
  },
];
export const FIRST_ACK_HEX = '00010f00000000000000756e6b6e6f776e5f73657373696f6e';

export const EVENT_FRAME_BODY_HEX =
  '000000000000000002000000000000007231010d00000000000000666978207468652074657374730102000000000000007031';
export const COMMAND_FRAME_HEX = '000000080100000003000000';

export const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
export const plainHex = (golden: { readonly hex: string }): string => golden.hex.replaceAll(' ', '');
