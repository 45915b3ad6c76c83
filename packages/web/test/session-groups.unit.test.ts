import { describe, expect, it } from 'vitest';
import type { Session } from '../src/api-types.js';
import { groupOf, groupSessions, pageTitle, statusWords } from '../src/session-groups.js';
import { AT, DATABASE } from './log-of.js';

function session(id: string, change: Partial<Session> = {}): Session {
  return {
    id,
    title: id,
    agent: 'claude',
    status: 'idle',
    running: false,
    awaiting: [],
    owner: 'local',
    workspace: { kind: 'empty' },
    created_at: AT,
    updated_at: AT,
    last_event_idx: 1,
    usage: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_micro_usd: 0 },
    undelivered: [],
    ...change,
  };
}
const waiting = (asked_at: string, state: 'waiting' | 'sent' | 'failed' = 'waiting') => ({
  awaiting: [{ tool_call_id: 't', questions: [DATABASE], asked_at, state }],
});

/** Nobody has news. */
const nobody = () => false;

describe('session groups', () => {
  it('puts a session where a person looks for it', () => {
    expect(groupOf(session('a', waiting(AT)), nobody)).toBe('waiting');
    expect(groupOf(session('a', waiting(AT, 'failed')), nobody)).toBe('waiting');
    expect(groupOf(session('a', { running: true, status: 'active' }), nobody)).toBe('working');
    expect(groupOf(session('a', { status: 'created' }), nobody)).toBe('working');
    expect(groupOf(session('a', { undelivered: [{ kind: 'prompt', id: 'p', accepted_at: AT }] }), nobody)).toBe(
      'working',
    );
    expect(groupOf(session('a'), nobody)).toBe('sleeping');
    expect(groupOf(session('a', { status: 'active' }), nobody)).toBe('sleeping');
    expect(groupOf(session('a', { status: 'failed' }), nobody)).toBe('failed');
    const everybody = () => true;
    expect(groupOf(session('a'), everybody)).toBe('done');
    expect(groupOf(session('a', waiting(AT)), everybody)).toBe('waiting');
    expect(groupOf(session('a', { running: true, status: 'active' }), everybody)).toBe('working');
    expect(groupOf(session('a', { status: 'failed' }), everybody)).toBe('failed');
  });

  it('orders the waiting by how long they wait and the rest by what is newest', () => {
    const news = ({ id }: { readonly id: string }) => id.startsWith('news');
    const all = [
      session('late', waiting('2030-05-04T12:05:00Z')),
      session('early', waiting('2030-05-04T12:01:00Z')),
      session('old', { updated_at: '2030-05-01T00:00:00Z' }),
      session('new', { updated_at: '2030-05-02T00:00:00Z' }),
      session('news 1', { updated_at: '2030-05-01T00:00:00Z' }),
      session('news 2', { updated_at: '2030-05-02T00:00:00Z' }),
    ];
    const groups = groupSessions(all, news);
    expect(groups.map((group) => [group.name, group.sessions.map(({ id }) => id)])).toEqual([
      ['waiting', ['early', 'late']],
      ['done', ['news 2', 'news 1']],
      ['sleeping', ['new', 'old']],
    ]);
  });

  it('counts the waiting in the title', () => {
    expect(pageTitle(2)).toBe('(2) Engram');
    expect(pageTitle(0, 'Port it')).toBe('Port it · Engram');
  });

  it('words the state', () => {
    const facts = { status: 'idle', running: false, waiting: true, pendingWork: false } as const;
    expect(statusWords(facts)).toBe('sleeping · waiting for you');
    expect(statusWords({ ...facts, status: 'active', running: true })).toBe('working');
    expect(statusWords({ ...facts, waiting: false, pendingWork: true })).toBe('waking');
  });
});
