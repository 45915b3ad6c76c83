import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HarnessEvent } from '@engram/harness-proto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openJournal } from '../src/journal.js';
import { NEW_SESSION, type SessionState } from '../src/session-core.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'engram-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const event = (n: number): HarnessEvent => ({ type: 'run_completed', run_id: `r${n}`, ok: true });
const state = (id: string): SessionState => ({ ...NEW_SESSION, claudeSessionId: id });
const path = () => join(folder, 'journal.jsonl');

it('gives events back with their numbers and the newest state', () => {
  const journal = openJournal(folder);
  journal.append([event(1), event(2)], state('a'), true);
  journal.append([], state('b'), false);
  journal.append([event(3)], undefined, false);
  journal.close();
  const again = openJournal(folder);
  expect(again.state.claudeSessionId).toBe('b');
  expect(again.lastSeq).toBe(3);
  expect(again.after(1)).toEqual([
    { seq: 2, event: event(2) },
    { seq: 3, event: event(3) },
  ]);
  expect(again.append([event(4)], undefined, false)).toEqual([{ seq: 4, event: event(4) }]);
  again.close();
});

it('cuts off a record that a crash left torn, and goes on behind the last whole one', () => {
  const journal = openJournal(folder);
  journal.append([event(1)], state('a'), true);
  journal.close();
  appendFileSync(path(), '{"next":2,"events":[{"type":"run_com');
  const again = openJournal(folder);
  expect(again.lastSeq).toBe(1);
  again.append([event(2)], undefined, false);
  again.close();
  expect(openJournal(folder).after(0)).toHaveLength(2);
});

it('refuses a file with a damaged line in its middle', () => {
  writeFileSync(path(), 'nonsense\n{"next":1,"events":[]}\n');
  expect(() => openJournal(folder)).toThrow('cannot be read');
});

it('forgets what the host stored, and shrinks its file', () => {
  const journal = openJournal(folder);
  const big: HarnessEvent = {
    type: 'agent_message',
    run_id: 'r',
    message_id: 'm',
    role: 'assistant',
    text: 'x'.repeat(60_000),
  };
  for (let i = 0; i < 12; i += 1) journal.append([big], state(`s${i}`), false);
  expect(statSync(path()).size).toBeGreaterThan(600_000);
  journal.acknowledge(11);
  expect(journal.unacknowledged).toBe(1);
  expect(statSync(path()).size).toBeLessThan(100_000);
  journal.append([event(13)], undefined, false);
  journal.close();
  const again = openJournal(folder);
  expect(again.after(0).map((one) => one.seq)).toEqual([12, 13]);
  expect(again.state.claudeSessionId).toBe('s11');
});

it('numbers new events behind what the host has when its own files are older', () => {
  const first = openJournal(folder);
  first.append([event(1)], state('a'), false);
  first.close();
  const journal = openJournal(folder);
  journal.append([event(2)], undefined, false);
  journal.rebase(7);
  expect(journal.after(7)).toEqual([{ seq: 8, event: event(2) }]);
  expect(journal.append([event(3)], undefined, false)[0]?.seq).toBe(9);
  journal.rebase(20);
  expect(journal.lastSeq).toBe(9);
  journal.close();
  expect(openJournal(folder).lastSeq).toBe(9);
  expect(readFileSync(path(), 'utf8').endsWith('\n')).toBe(true);
});
