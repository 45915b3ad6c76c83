import { describe, expect, it } from 'vitest';
import type { Session } from '../src/api-types.js';
import { buildConversation } from '../src/build-messages.js';
import { changesByRun } from '../src/changes-by-run.js';
import type { ChangeRow, RunRow } from '../src/conversation-rows.js';
import { parseLogEvent } from '../src/parse-event.js';
import { withWholeTexts } from '../src/prompt-queue.js';
import { buildQuestionCards, hasEqualQuestions } from '../src/question-cards.js';
import { addPrompt } from '../src/recent-prompts.js';
import { searchRows } from '../src/search-rows.js';
import { isUnread, markOf, updateSeen } from '../src/unread-marks.js';
import { logOf } from './log-of.js';

const session = (id: string, tokens: number, more: Partial<Session> = {}): Session => ({
  id,
  title: id,
  agent: 'claude',
  status: 'idle',
  running: false,
  awaiting: [],
  owner: 'local',
  workspace: { kind: 'empty' },
  created_at: '',
  updated_at: '',
  last_event_idx: 1,
  usage: { input_tokens: 0, output_tokens: tokens, cache_read_tokens: 0, cache_write_tokens: 0, cost_micro_usd: 0 },
  undelivered: [],
  ...more,
});

describe('unread marks', () => {
  it('a session met for the first time is not news; work finished since then is', () => {
    const seen = updateSeen({}, [session('a', 10)], undefined);
    expect(isUnread(session('a', 10), {})).toBe(false);
    expect(isUnread(session('a', 10), seen)).toBe(false);
    expect(isUnread(session('a', 30), seen)).toBe(true);
    expect(isUnread(session('a', 30, { running: true }), seen)).toBe(false);
    expect(isUnread(session('a', 10, { status: 'failed' }), seen)).toBe(true);
  });

  it('falling asleep is no news, and looking at a session takes its mark away', () => {
    const seen = updateSeen({}, [session('a', 10, { status: 'active' })], undefined);
    expect(isUnread(session('a', 10, { status: 'idle', last_event_idx: 9 }), seen)).toBe(false);
    const looked = updateSeen(seen, [session('a', 30)], 'a');
    expect(looked.a).toBe(markOf(session('a', 30)));
    expect(isUnread(session('a', 30), looked)).toBe(false);
  });

  it('keeps nothing of sessions that are gone, and the same object while nothing changed', () => {
    const seen = updateSeen({}, [session('a', 1), session('b', 1)], undefined);
    expect(Object.keys(updateSeen(seen, [session('b', 1)], undefined))).toEqual(['b']);
    expect(updateSeen(seen, [session('a', 1), session('b', 1)], undefined)).toBe(seen);
  });
});

describe('prompts used before', () => {
  it('are kept newest first, each once, a handful of them', () => {
    expect(addPrompt(['b', 'a'], ' a ')).toEqual(['a', 'b']);
    expect(addPrompt(['1', '2', '3', '4', '5', '6'], '7')).toEqual(['7', '1', '2', '3', '4', '5']);
    expect(addPrompt(['a'], '  ')).toEqual(['a']);
    expect(addPrompt(['a'], 'x'.repeat(2_001))).toEqual(['a']);
  });
});

describe('the text of an edited prompt', () => {
  const prompt = (text: string) => ({ promptId: 'p', text, at: '', seen: true });
  const waits = (text: string) => [{ kind: 'prompt', id: 'p', text, accepted_at: '' }];

  it('is whole where the server has all of it', () => {
    const long = 'é'.repeat(300);
    expect(withWholeTexts([prompt(long.slice(0, 200))], waits(long))[0]?.text).toBe(long);
  });

  it('is the log’s own where that is whole, or where the server has not caught up', () => {
    expect(withWholeTexts([prompt('new')], waits('old'))[0]?.text).toBe('new');
    expect(withWholeTexts([prompt('n'.repeat(200))], waits('old'))[0]?.text).toBe('n'.repeat(200));
    expect(withWholeTexts([prompt('n'.repeat(200))], [])[0]?.text).toBe('n'.repeat(200));
  });
});

describe('two questions with the same words', () => {
  const card = (...texts: string[]) =>
    [
      ...buildQuestionCards(
        logOf({
          type: 'user_question',
          run_id: 'r',
          tool_call_id: 'q',
          questions: texts.map((question) => ({ question, header: '', multi_select: false, options: [] })),
        }),
      ).values(),
    ][0];

  it('are told from those that can be answered', () => {
    const equal = card('Pick', 'Pick');
    const apart = card('Pick', 'Choose');
    expect(equal !== undefined && hasEqualQuestions(equal)).toBe(true);
    expect(apart !== undefined && hasEqualQuestions(apart)).toBe(false);
  });
});

describe('search and changes by run', () => {
  const { rows } = buildConversation({
    live: [],
    events: logOf(
      { type: 'run_started', run_id: 'r1' },
      { type: 'agent_message', run_id: 'r1', message_id: 'm', role: 'assistant', text: 'The Parser first' },
      {
        type: 'tool_call_started',
        run_id: 'r1',
        tool_call_id: 't',
        tool_name: 'Bash',
        args_summary: '{"command":"ls"}',
      },
      {
        type: 'tool_call_completed',
        run_id: 'r1',
        tool_call_id: 't',
        tool_name: 'Bash',
        ok: true,
        duration_ms: 1,
        result_summary: 'parser.ts',
      },
      {
        type: 'file_changed',
        run_id: 'r1',
        tool_call_id: 'c',
        path: 'src/parser.ts',
        change: { type: 'patch', kind: 'create', hunks: [], additions: 2, deletions: 0, approximate: false },
      },
      { type: 'run_completed', run_id: 'r1', ok: true },
      { type: 'run_started', run_id: 'r2' },
      {
        type: 'file_changed',
        run_id: 'r2',
        tool_call_id: 'd',
        path: 'src/parser.ts',
        change: { type: 'patch', kind: 'update', hunks: [], additions: 1, deletions: 1, approximate: false },
      },
    ),
  });

  it('finds messages, tools with their results and paths, whatever the case', () => {
    expect(searchRows(rows, 'PARSER')).toHaveLength(4);
    expect(searchRows(rows, 'parser first')).toHaveLength(1);
    expect(searchRows(rows, ' ')).toEqual([]);
    expect(searchRows(rows, 'run')).toEqual([]);
  });

  it('puts each change to the run that made it', () => {
    const changes = rows.filter((row): row is ChangeRow => row.kind === 'change');
    const runs = rows.filter((row): row is RunRow => row.kind === 'run');
    expect(changesByRun(changes, runs).map(({ number, changes: list }) => [number, list.length])).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });
});

describe('an event that the store had to cut', () => {
  it('is marked as shortened, so that a part never looks whole', () => {
    const value = {
      idx: 1,
      at: '2030-05-04T12:00:00Z',
      type: 'file_changed',
      run_id: 'r',
      tool_call_id: 't',
      path: 'a',
      change: { type: 'patch', kind: 'update', hunks: [], additions: 9, deletions: 0, approximate: false },
      cut_from_bytes: 5_000,
    };
    const event = parseLogEvent(value);
    expect(event?.droppedBytes).toBe(5_000 - JSON.stringify(value).length);
    const [row] = buildConversation({ events: event === undefined ? [] : [event], live: [] }).rows;
    expect(row).toMatchObject({ kind: 'change', truncation: { dropped_hunks: 0, dropped_bytes: event?.droppedBytes } });
  });
});
