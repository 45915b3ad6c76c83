import { describe, expect, it } from 'vitest';
import type { ApiEvent } from '../src/api-events.js';
import { plainPaint } from '../src/paint.js';
import { renderEvent } from '../src/render-event.js';

const show = (event: ApiEvent): string =>
  renderEvent(event, { sessionId: 's-1', paint: plainPaint, commandEnd: '' }).join('\n');
const at = '2026-01-01T00:00:00.000Z';

describe('renderEvent', () => {
  it('indents what the agent says, so that it cannot pass for our own lines', () => {
    const text = 'Hello\n✓ answered\n';
    expect(show({ idx: 1, at, type: 'agent_message', run_id: 'r', message_id: 'm', role: 'assistant', text })).toBe(
      'agent\n  Hello\n  ✓ answered',
    );
  });

  it('shows a question with the exact command that answers it', () => {
    const questions = [
      {
        question: 'Which editor?',
        header: 'Editor',
        multi_select: false,
        options: [{ label: 'Vim', description: 'modal' }],
      },
      { question: 'Why?', header: 'Why', multi_select: true, options: [{ label: 'Habit', description: '' }] },
    ];
    const shown = show({ idx: 2, at, type: 'user_question', run_id: 'r', tool_call_id: 'toolu_1', questions });
    expect(shown).toContain('? 1. Which editor?');
    expect(shown).toContain('    1  Vim — modal');
    expect(shown).toContain('npm run engram -- answer s-1 toolu_1 --choose 1 --choose 1');
  });

  it('tells a change by path and counts, all three shapes', () => {
    const base = { idx: 3, at, type: 'file_changed', run_id: 'r', tool_call_id: 't', path: 'src/a.ts' };
    expect(
      show({
        ...base,
        change: { type: 'patch', kind: 'update', hunks: [], additions: 3, deletions: 1, approximate: false },
      }),
    ).toBe('± src/a.ts +3 −1');
    expect(
      show({
        ...base,
        change: { type: 'patch', kind: 'create', hunks: [], additions: 3, deletions: 0, approximate: true },
      }),
    ).toBe('± src/a.ts (new) +~3 −~0');
    expect(show({ ...base, change: { type: 'write', content: 'x' } })).toBe('± src/a.ts (written)');
    expect(show({ ...base, change: { type: 'edit', hunks: [{ old: 'a', new: 'b' }] } })).toBe('± src/a.ts (1 edit)');
  });

  it('names the files of a message, and says in one line what the agent thought', () => {
    const attachments = [{ attachment_id: 'a', name: 'shot.png', media_type: 'image/png', size: 70 }];
    const by = { id: 'a', name: 'you' };
    expect(show({ type: 'prompt_received', prompt_id: 'p', text: 'Look', by, attachments })).toBe(
      'you\n  Look\n  + shot.png (70 bytes)',
    );
    expect(show({ type: 'agent_thought', run_id: 'r', message_id: 'm', text: 'First\nthe parser' })).toMatch(
      /^· thought: First.*the parser$/,
    );
  });

  it('neutralises control codes in every foreign field', () => {
    const evil = '\u001b[2J\u001b]0;x\u0007';
    const events: ApiEvent[] = [
      { type: 'agent_message', run_id: 'r', message_id: 'm', role: 'assistant', text: evil },
      { type: 'tool_call_started', run_id: 'r', tool_call_id: 't', tool_name: evil, args_summary: evil },
      {
        type: 'tool_call_completed',
        run_id: 'r',
        tool_call_id: 't',
        tool_name: evil,
        ok: false,
        duration_ms: 1,
        result_summary: evil,
      },
      { type: 'file_changed', run_id: 'r', tool_call_id: 't', path: evil, change: { type: 'write', content: evil } },
      {
        type: 'user_question',
        run_id: 'r',
        tool_call_id: evil,
        questions: [
          { question: evil, header: evil, multi_select: false, options: [{ label: evil, description: evil }] },
        ],
      },
      { type: 'question_answered', run_id: 'r', tool_call_id: 't', answers: { [evil]: [evil] } },
      { type: 'question_dismissed', run_id: 'r', tool_call_id: 't', reason: evil },
      { type: 'session_created', title: evil, agent: 'claude', by: { id: 'a', name: evil } },
      {
        type: 'prompt_received',
        prompt_id: 'p',
        text: evil,
        by: { id: 'a', name: evil },
        attachments: [{ attachment_id: 'a', name: evil, media_type: evil, size: 1 }],
      },
      { type: 'agent_thought', run_id: 'r', message_id: 'm', text: evil },
      { type: 'answer_submitted', tool_call_id: 't', answers: {}, by: { id: 'a', name: evil } },
      { type: 'answer_failed', tool_call_id: 't', code: evil, message: evil },
      { type: 'session_error', code: evil, message: evil },
      { type: 'notice', level: 'warning', code: 'c', message: evil },
      { type: 'prompt_queued', prompt_id: evil, summary: evil },
      { type: evil },
    ];
    for (const event of events) {
      const shown = show(event);
      expect(shown, event.type).not.toContain('\u001b');
      expect(shown, event.type).not.toContain('\u0007');
    }
  });

  it('names a kind it does not know, and survives a known one without its fields', () => {
    expect(show({ idx: 9, at, type: 'plan_proposed', plan: 'x' })).toBe('· plan_proposed');
    expect(show({ idx: 9, at, type: 'user_question' })).toContain('not readable');
  });
});
