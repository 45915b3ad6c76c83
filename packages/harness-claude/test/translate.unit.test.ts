import { createHash } from 'node:crypto';
import type { HarnessEvent } from '@engram/harness-proto';
import { describe, expect, it } from 'vitest';
import type { ClaudeMessage } from '../src/claude-message.js';
import { createClaudeStream } from '../src/claude-stream.js';
import {
  adoptCall,
  closeOpenCalls,
  initialTranslateState,
  noteQuestions,
  resumeText,
  type TranslateState,
  translate,
} from '../src/translate.js';
import { allStreams, fixtureMessages, VERSIONS } from './fixture-streams.js';

const start = () => initialTranslateState({ workspace: '/workspace' });

/** Feeds messages one millisecond apart, from 1000 on. */
function run(messages: readonly ClaudeMessage[], from: TranslateState = start()) {
  const events: HarnessEvent[] = [];
  let state = from;
  messages.forEach((message, i) => {
    const step = translate(state, message, { nowMs: 1000 + i, runId: 'r1' });
    state = step.state;
    events.push(...step.events);
  });
  return { state, events };
}

/** The text an event tells, undefined for events without one. */
function told(event: HarnessEvent): string | undefined {
  return event.type === 'agent_message' ? event.text : event.type === 'agent_message_chunk' ? event.chunk : undefined;
}

const brief = (events: readonly HarnessEvent[]) =>
  events.map((e) => `${e.type} ${told(e) ?? ('tool_name' in e ? e.tool_name : '')}`.trim());

function lines(...raws: readonly unknown[]): ClaudeMessage[] {
  return createClaudeStream().push(Buffer.from(raws.map((raw) => `${JSON.stringify(raw)}\n`).join('')));
}
const block = (type: string, rest: object, parent: string | null = null, id = 'm1') => ({
  type: 'assistant',
  message: { id, model: 'x', content: [{ type, ...rest }] },
  parent_tool_use_id: parent,
});
const say = (text: string, id = 'm1') => block('text', { text }, null, id);
const use = (id: string, name: string, input: unknown = {}, parent: string | null = null) =>
  block('tool_use', { id, name, input }, parent);
const result = (id: string, content: unknown, isError = false, parent: string | null = null) => ({
  type: 'user',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content, is_error: isError }] },
  parent_tool_use_id: parent,
});
const delta = (text: string, index = 0) => ({
  type: 'stream_event',
  event: { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
  parent_tool_use_id: null,
});
const messageStart = (id: string) => ({ type: 'stream_event', event: { type: 'message_start', message: { id } } });

describe('images of a result', () => {
  const image = (data: string, type = 'base64') => ({ type: 'image', source: { type, media_type: 'image/png', data } });
  const told = (...parts: readonly unknown[]) =>
    run(lines(use('t1', 'Read', { file_path: 'a.png' }), result('t1', parts))).events.at(-1);

  it('are told by reference, and named in the text', () => {
    const bytes = Buffer.from('not really a picture');
    expect(told({ type: 'text', text: 'Here:' }, image(bytes.toString('base64')))).toMatchObject({
      type: 'tool_call_completed',
      result_summary: 'Here:\n[image]',
      images: [
        {
          attachment_id: createHash('sha256').update(bytes).digest('hex'),
          media_type: 'image/png',
          size: bytes.length,
        },
      ],
    });
  });

  it('are left out when they are of another form, empty, too large or too many', () => {
    expect(told(image('https://example.org/a.png', 'url'), image(''), { type: 'image' })).not.toHaveProperty('images');
    expect(told(image('A'.repeat(8 * 1024 * 1024)))).not.toHaveProperty('images');
    expect(told(...Array.from({ length: 12 }, (_, i) => image(Buffer.from(`n${i}`).toString('base64'))))).toMatchObject(
      {
        images: { length: 8 },
      },
    );
  });
});

describe('messages and chunks', () => {
  it('gives chunks and the full message the same id (STR-07)', () => {
    const { events } = run(lines(messageStart('m1'), delta('Hel'), delta('lo'), say('Hello')));
    expect(events.map((e) => ('message_id' in e ? [e.type, e.message_id] : []))).toEqual([
      ['agent_message_chunk', 'm1'],
      ['agent_message_chunk', 'm1'],
      ['agent_message', 'm1'],
    ]);
  });

  it('tells two text blocks of one message apart, also when one of white space stands between', () => {
    const { events } = run(
      lines(
        messageStart('m1'),
        delta('a', 0),
        say('a'),
        delta(' \n', 1),
        use('t1', 'Bash', { command: 'ls' }),
        delta('b', 3),
        say('b'),
      ),
    );
    const ids = events.flatMap((e) => ('message_id' in e ? [`${e.message_id} ${told(e)}`] : []));
    expect(ids).toEqual(['m1 a', 'm1 a', 'm1:2 b', 'm1:2 b']);
  });

  it('cuts long text and long chunks, and says so', () => {
    const long = 'é'.repeat(40_000);
    const { events } = run(lines(messageStart('m1'), delta(long), say(long)));
    const chunks = events.filter((e) => e.type === 'agent_message_chunk');
    expect(chunks.map(told).join('')).toBe(long);
    expect(chunks.every((c) => Buffer.byteLength(told(c) ?? '') <= 6 * 1024)).toBe(true);
    const message = events.find((e) => e.type === 'agent_message');
    expect(message).toMatchObject({ truncated_bytes: 80_000 - 65_536 });
  });

  it('tells what the model shows of its thinking, and nothing of what it keeps to itself', () => {
    const { events } = run(
      lines(
        block('thinking', { thinking: 'First the parser.', signature: 's' }),
        block('redacted_thinking', { data: 'x' }),
        block('thinking', { thinking: ' ' }),
        block('thinking', { thinking: 'of a subagent' }, 'task1'),
        say('Done.'),
        use('q1', 'AskUserQuestion'),
        block('thinking', { thinking: 'past the question' }),
      ),
    );
    expect(events).toEqual([
      { type: 'agent_thought', run_id: 'r1', message_id: 'm1', text: 'First the parser.' },
      { type: 'agent_message', run_id: 'r1', message_id: 'm1', role: 'assistant', text: 'Done.' },
    ]);
  });

  it('does not tell texts of the CLI itself or echoes of the prompt', () => {
    const { events } = run([
      ...lines({
        ...say('No response requested.'),
        message: { id: 'x', model: '<synthetic>', content: [{ type: 'text', text: 'n' }] },
      }),
      ...fixtureMessages('2.1.332', 'inv-initialize-partial-replay').filter((m) => m.type === 'user'),
    ]);
    expect(events).toEqual([]);
  });

  it('streams the recorded partial messages', () => {
    const { events } = run(fixtureMessages('2.1.332', 'inv-initialize-partial-replay'));
    expect(brief(events)).toEqual(['agent_message_chunk hi there', 'agent_message hi there', 'usage']);
  });
});

describe('tool calls', () => {
  it.each(VERSIONS)('tells calls, results and the file change of %s in order', (version) => {
    const { events, state } = run(fixtureMessages(version, 'file-edit'));
    expect(brief(events)).toEqual([
      'tool_call_started Read',
      'tool_call_completed Read',
      'tool_call_started Edit',
      'tool_call_completed Edit',
      'file_changed',
      'agent_message done',
      'usage',
    ]);
    expect(events[2]).toMatchObject({
      args_summary:
        '{"replace_all":false,"file_path":"/workspace/a.txt","old_string":"two","new_string":"TWO\\nTWO-B"}',
    });
    expect(state.openCalls.size).toBe(0);
  });

  it.each(VERSIONS)('tells a failed edit of %s as failed and changes no file', (version) => {
    const { events } = run(fixtureMessages(version, 'file-edit-fail'));
    const failed = events.filter((e) => e.type === 'tool_call_completed' && !e.ok);
    expect(failed).toMatchObject([{ tool_name: 'Edit', result_summary: expect.stringContaining('String to replace') }]);
    expect(events.some((e) => e.type === 'file_changed')).toBe(false);
  });

  it('measures the duration and caps both summaries', () => {
    const { events } = run(
      lines(use('t1', 'Bash', { command: 'x'.repeat(5000), description: 'shown' }), result('t1', 'o'.repeat(10_000))),
    );
    expect(events[0]).toMatchObject({ args_summary: expect.stringContaining('"description":"shown"') });
    expect(events[0]).toMatchObject({ truncated_bytes: expect.any(Number) });
    expect(events[1]).toMatchObject({ ok: true, duration_ms: 1, truncated_bytes: 10_000 - 4096 });
  });

  it('keeps the message of a huge result small (STR-03)', () => {
    const image = { type: 'image', source: { type: 'base64', data: 'A'.repeat(8 * 1024 * 1024) } };
    const { events } = run(lines(use('t1', 'Read'), result('t1', [image, { type: 'text', text: 'tail' }])));
    expect(events[1]).toMatchObject({ result_summary: '[image]\ntail' });
  });

  it('names the parent of a subagent call and leaves its texts to the parent result', () => {
    const { events } = run(
      lines(
        use('t1', 'Agent', { prompt: 'p' }),
        block('text', { text: 'inside' }, 't1'),
        use('t2', 'Read', { file_path: 'a' }, 't1'),
        result('t2', 'content', false, 't1'),
        result('t1', 'report'),
      ),
    );
    expect(brief(events)).toEqual([
      'tool_call_started Agent',
      'tool_call_started Read',
      'tool_call_completed Read',
      'tool_call_completed Agent',
    ]);
    expect(events[1]).toMatchObject({ parent_tool_call_id: 't1' });
    expect(events[0]).not.toHaveProperty('parent_tool_call_id');
  });

  it('ends what is open when the process is gone, and tells an adopted call in full', () => {
    const open = run(lines(use('t1', 'Bash'), use('q1', 'AskUserQuestion', { questions: [] }))).state;
    const { events, state } = closeOpenCalls(open, { nowMs: 5000, runId: 'r1' }, 'The agent process ended.');
    expect(events).toMatchObject([
      { tool_call_id: 't1', ok: false, duration_ms: 4000, result_summary: 'The agent process ended.' },
    ]);
    expect(state.openCalls.size).toBe(0);

    const write = { type: 'tool_use', id: 'w1', name: 'Write', input: { file_path: 'a', content: 'x' } } as const;
    const later = run(lines(result('w1', 'done')), adoptCall(start(), write, 900));
    expect(brief(later.events)).toEqual(['tool_call_completed Write', 'file_changed']);
  });

  it('says nothing about a result whose call it never saw', () => {
    expect(run(lines(result('t9', 'x'))).events).toEqual([]);
  });
});

describe('questions', () => {
  it.each(VERSIONS)('makes no generic card of a deferred question of %s', (version) => {
    expect(brief(run(fixtureMessages(version, 'defer-ask1')).events)).toEqual(['usage']);
  });

  it('keeps the text before the question and drops what is said after it', () => {
    const { events, state } = run(
      lines(
        messageStart('m1'),
        delta('Let me ask.'),
        say('Let me ask.'),
        use('q1', 'AskUserQuestion'),
        messageStart('m2'),
        delta('Error'),
        say('Error', 'm2'),
      ),
    );
    expect(brief(events)).toEqual(['agent_message_chunk Let me ask.', 'agent_message Let me ask.']);
    expect(brief(run(lines(say('Thanks', 'm3')), resumeText(state)).events)).toEqual(['agent_message Thanks']);
  });

  it.each(['root-C', 'root-D', 'root-DUP', 'bg-poison'])(
    'drops the narration of the poisoned 2.1.183 run %s',
    (name) => {
      const { events } = run(fixtureMessages('2.1.183', name));
      expect(events.filter((e) => told(e) !== undefined)).toEqual([]);
    },
  );

  it('tells a question the CLI refused as an ordinary failed call, and the text after it (AUQ-11)', () => {
    const { events } = run(
      lines(
        use('q1', 'AskUserQuestion', { questions: [] }),
        result('q1', 'InputValidationError', true),
        say('Sorry', 'm2'),
      ),
    );
    expect(brief(events)).toEqual([
      'tool_call_started AskUserQuestion',
      'tool_call_completed AskUserQuestion',
      'agent_message Sorry',
    ]);
    expect(events[1]).toMatchObject({ ok: false, result_summary: 'InputValidationError' });
  });

  it('leaves the error result of a known question to the session, and the text suppressed', () => {
    const asked = run(lines(use('q1', 'AskUserQuestion'))).state;
    const { events } = run(
      lines(result('q1', '[Tool result missing due to internal error]', true), say('narrates', 'm2')),
      noteQuestions(asked, ['q1']),
    );
    expect(events).toEqual([]);
  });

  it('tells text again after an answered question', () => {
    const { events } = run(lines(use('q1', 'AskUserQuestion'), result('q1', 'The user answered'), say('On it', 'm2')));
    expect(brief(events)).toEqual(['agent_message On it']);
  });

  it.each(VERSIONS)('tells the refusal of a question inside a subagent of %s', (version) => {
    const { events } = run(fixtureMessages(version, 'subagent-auq'));
    const refused = events.filter((e) => e.type === 'tool_call_started' && e.tool_name === 'AskUserQuestion');
    expect(refused).toMatchObject([{ parent_tool_call_id: expect.any(String) }]);
    expect(events.filter((e) => e.type === 'agent_message').length).toBeGreaterThan(0);
  });

  it.each(VERSIONS)('goes on with the text after the answer of a resumed %s', (version) => {
    const { events } = run(fixtureMessages(version, 'resume-answer-single'));
    expect(brief(events)).toEqual([expect.stringContaining('agent_message RESULTS'), 'usage']);
  });
});

describe('the end of a turn', () => {
  it.each([
    ['inv-error-E401', 'auth_error', 'Failed to authenticate'],
    ['inv-error-E400', 'api_error', '400'],
    ['inv-error-E429', 'api_error', '429'],
    ['inv-error-E500', 'api_error', '500'],
    ['inv-error-E529', 'api_error', '529'],
    ['inv-error-ESSE', 'api_error', 'mid-response'],
  ])('tells %s as %s, not as a message', (name, code, text) => {
    const { events } = run(fixtureMessages('2.1.332', name));
    const errors = events.filter((e) => e.type === 'notice' && e.level === 'error');
    expect(errors).toMatchObject([{ code, message: expect.stringContaining(text) }]);
    expect(events.filter((e) => told(e)?.includes('API Error'))).toEqual([]);
  });

  it('says once that the agent tries again', () => {
    const { events } = run(fixtureMessages('2.1.332', 'inv-error-E429'));
    expect(events.filter((e) => e.type === 'notice' && e.code === 'api_retry')).toHaveLength(1);
  });

  it('says at the first refusal that the credentials are wrong', () => {
    const { events } = run(fixtureMessages('2.1.332', 'inv-error-E401'));
    const notices = events.filter((e) => e.type === 'notice');
    expect(notices.map((n) => [n.level, n.code])).toEqual([
      ['warning', 'auth_error'],
      ['error', 'auth_error'],
    ]);
  });

  it('says that the conversation was condensed', () => {
    const { events } = run(fixtureMessages('2.1.332', 'inv-compact'));
    expect(events.filter((e) => e.type === 'notice')).toMatchObject([{ level: 'info', code: 'context_compacted' }]);
  });

  it.each(['inv-interrupt-text', 'inv-interrupt-held-hook', 'inv-resume-unknown-session'])(
    'leaves %s to the session',
    (name) => {
      const { events } = run(fixtureMessages('2.1.332', name));
      expect(events.filter((e) => e.type === 'notice')).toEqual([]);
    },
  );

  it.each([
    ['2.1.183', 550],
    ['2.1.332', 440],
  ])('prices each turn of %s alone', (version, cost) => {
    const costs = ['live-new-prompt-after-defer', 'resume-answer-single'].map((name) =>
      run(fixtureMessages(version, name)).events.flatMap((e) => (e.type === 'usage' ? [e.cost_micro_usd] : [])),
    );
    expect(costs).toEqual([[cost, cost], [cost]]);
  });

  it.each(VERSIONS)('tells no usage for a repeated defer of %s', (version) => {
    expect(run(fixtureMessages(version, 'resume-defer-again')).events).toEqual([]);
  });
});

describe('every recorded stream', () => {
  it.each(allStreams())(
    '%s %s: each call ends at most once, after it began, and file changes follow success',
    (version, name) => {
      const open = new Map<string, string>();
      const succeeded = new Set<string>();
      for (const event of run(fixtureMessages(version, name)).events) {
        if (event.type === 'tool_call_started') {
          expect(open.has(event.tool_call_id)).toBe(false);
          open.set(event.tool_call_id, event.tool_name);
        } else if (event.type === 'tool_call_completed') {
          expect(open.get(event.tool_call_id)).toBe(event.tool_name);
          open.delete(event.tool_call_id);
          if (event.ok) succeeded.add(event.tool_call_id);
        } else if (event.type === 'file_changed') {
          expect(succeeded.has(event.tool_call_id)).toBe(true);
        } else {
          expect(['agent_message', 'agent_message_chunk', 'usage', 'notice']).toContain(event.type);
        }
      }
    },
  );
});
