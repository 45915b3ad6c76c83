import { describe, expect, it } from 'vitest';
import type { KnownEvent } from '../src/api-types.js';
import { buildConversation } from '../src/build-messages.js';
import { AT, answered, asked, logOf, ME, submitted } from './log-of.js';

const build = (...events: readonly KnownEvent[]) => buildConversation({ events: logOf(...events), live: [] });
const kinds = (...events: readonly KnownEvent[]) => build(...events).rows.map((row) => row.kind);

const prompt = (id: string, text = id): KnownEvent => ({ type: 'prompt_received', prompt_id: id, text, by: ME });
const run = (run_id: string, prompt_id?: string): KnownEvent =>
  prompt_id === undefined ? { type: 'run_started', run_id } : { type: 'run_started', run_id, prompt_id };
const done = (run_id: string): KnownEvent => ({ type: 'run_completed', run_id, ok: true });
const started = (tool_call_id: string, tool_name = 'Bash'): KnownEvent => ({
  type: 'tool_call_started',
  run_id: 'r1',
  tool_call_id,
  tool_name,
  args_summary: '{"command":"ls"}',
});
const completed = (tool_call_id: string, ok = true, tool_name = 'Bash'): KnownEvent => ({
  type: 'tool_call_completed',
  run_id: 'r1',
  tool_call_id,
  tool_name,
  ok,
  duration_ms: 5,
  result_summary: 'out',
});
const message = (message_id: string, text: string): KnownEvent => ({
  type: 'agent_message',
  run_id: 'r1',
  message_id,
  role: 'assistant',
  text,
});
const changed = (tool_call_id: string): KnownEvent => ({
  type: 'file_changed',
  run_id: 'r1',
  tool_call_id,
  path: 'a.ts',
  change: { type: 'patch', kind: 'update', hunks: [], additions: 1, deletions: 0, approximate: false },
});

describe('conversation', () => {
  it('shows a prompt, its run, its messages and tools in order', () => {
    expect(
      kinds(prompt('p1'), run('r1', 'p1'), message('m1', 'hi'), started('t1'), completed('t1'), done('r1')),
    ).toEqual(['prompt', 'run', 'message', 'tool']);
  });

  it('gives each row a key of its own, also when an agent repeats its ids', () => {
    const { rows } = build(
      run('r1'),
      message('m1', 'a'),
      message('c1', 'x'),
      message('m2', 'b'),
      message('c1', 'x'),
      message('c1', 'y'),
    );
    expect(rows.filter((row) => row.kind === 'message')).toHaveLength(4);
    expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
  });

  it('merges a call and its result whatever the order', () => {
    for (const events of [
      [started('t1'), completed('t1', false)],
      [completed('t1', false), started('t1')],
    ]) {
      const tools = build(run('r1'), ...events).rows.filter((row) => row.kind === 'tool');
      expect(tools).toEqual([expect.objectContaining({ state: 'error', args: '{"command":"ls"}', result: 'out' })]);
    }
  });

  it('shows one card per call in either order of tool call and question', () => {
    for (const events of [
      [started('t1', 'AskUserQuestion'), asked('t1')],
      [asked('t1'), started('t1', 'AskUserQuestion')],
    ]) {
      const view = build(run('r1'), ...events);
      expect(view.openCards.map((card) => card.toolCallId)).toEqual(['t1']);
      expect(view.rows.filter((row) => row.kind === 'question')).toHaveLength(1);
      expect(view.rows.filter((row) => row.kind === 'tool')).toHaveLength(0);
    }
  });

  it('keeps the generic card of a question call that never became a question', () => {
    const view = build(run('r1'), started('t1', 'AskUserQuestion'), completed('t1', false, 'AskUserQuestion'));
    expect(view.openCards).toEqual([]);
    expect(view.rows.map((row) => row.kind)).toEqual(['run', 'tool']);
  });

  it('never opens an answered card again', () => {
    const view = build(run('r1'), asked('t1'), done('r1'), submitted('t1'), run('r2'), answered('t1'), asked('t1'));
    expect(view.openCards).toEqual([]);
    expect(view.rows.filter((row) => row.kind === 'question')).toHaveLength(1);
  });

  it('lets the change rows stand for a successful edit, and keeps the card of a failed one', () => {
    expect(kinds(run('r1'), started('t1', 'Edit'), changed('t1'), completed('t1', true, 'Edit'))).toEqual([
      'run',
      'change',
    ]);
    expect(kinds(run('r1'), started('t1', 'Edit'), completed('t1', false, 'Edit'))).toEqual(['run', 'tool']);
  });

  it('counts tools per run and closes calls that got no result', () => {
    const { rows } = build(run('r1'), started('t1'), completed('t1', false), started('t2'), {
      type: 'run_interrupted',
      run_id: 'r1',
    });
    expect(rows[0]).toMatchObject({ kind: 'run', tools: 2, failedTools: 1, state: 'interrupted', endedAt: AT });
    expect(rows[2]).toMatchObject({ kind: 'tool', state: 'no_result' });
  });

  it('shows a prompt that waits for the agent where it was sent, and the next ones in the queue', () => {
    const view = build(prompt('p1'), prompt('p2'));
    expect(view.rows).toEqual([expect.objectContaining({ kind: 'prompt', text: 'p1', pending: 'waking' })]);
    expect(view.queue.map((queued) => queued.promptId)).toEqual(['p2']);
  });

  it('queues a prompt that met an open run, edited and withdrawn ones included', () => {
    const before = [prompt('p1'), run('r1', 'p1'), prompt('p2'), prompt('p3')] as const;
    expect(build(...before).queue.map((queued) => queued.text)).toEqual(['p2', 'p3']);
    const after = build(
      ...before,
      { type: 'prompt_edited', prompt_id: 'p2', summary: 'better' },
      { type: 'prompt_dequeued', prompt_id: 'p3' },
    );
    expect(after.queue.map((queued) => queued.text)).toEqual(['better']);
    const ran = build(...before, done('r1'), run('r2', 'p2'));
    expect(ran.queue.map((queued) => queued.promptId)).toEqual(['p3']);
    expect(ran.rows.filter((row) => row.kind === 'prompt').map((row) => row.pending)).toEqual([undefined, undefined]);
  });

  it('shows the words of an edit without the list of files that the agent gets with them', () => {
    const attachments = [{ attachment_id: 'a', name: 'a.png', media_type: 'image/png', size: 1 }];
    const { queue } = buildConversation({
      events: logOf(
        { type: 'run_started', run_id: 'r1' },
        { type: 'prompt_received', prompt_id: 'p1', text: 'Look', by: ME, attachments },
        {
          type: 'prompt_edited',
          prompt_id: 'p1',
          summary:
            'Look closer Files that the user attached to this message; read them before you go on: - /home/agent/attachments/0-a.png (image/png, 1 bytes)',
        },
      ),
      live: [],
    });
    expect(queue).toMatchObject([{ text: 'Look closer', files: 1 }]);
    const text = 'x'.repeat(500);
    const whole = build(prompt('p1'), { type: 'prompt_edited', prompt_id: 'p1', summary: 'x'.repeat(200), text });
    expect(whole.rows.find((row) => row.kind === 'prompt')?.text ?? whole.queue[0]?.text).toBe(text);
  });

  it('says that a prompt waits when the agent cannot start', () => {
    const view = build(prompt('p1'), { type: 'status_changed', from: 'active', to: 'failed' });
    expect(view.rows).toEqual([expect.objectContaining({ kind: 'prompt', pending: 'stuck' })]);
  });

  it('shows a kind it does not know by name', () => {
    const view = buildConversation({
      events: [{ idx: 1, at: AT, event: { type: 'unrecognised', name: 'hologram', fields: '{}' } }],
      live: [],
    });
    expect(view.rows).toEqual([{ kind: 'unrecognised', key: 'e1', name: 'hologram', fields: '{}' }]);
  });

  it('shows streamed text until the same text is stored', () => {
    const live = [{ runId: 'r1', messageId: 'm1', text: 'Hel' }];
    const streaming = buildConversation({ events: logOf(run('r1')), live });
    expect(streaming.rows.at(-1)).toMatchObject({ kind: 'message', text: 'Hel', live: true });
    const stored = buildConversation({ events: logOf(run('r1'), message('m1', 'Hello')), live });
    expect(stored.rows.filter((row) => row.kind === 'message')).toEqual([expect.objectContaining({ text: 'Hello' })]);
  });
});
