// The file operations on recorded transcripts: one step, mode kept, nothing left behind.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseTranscript, toolUses } from '../src/transcript.js';
import { findTranscriptPath, scrubTranscriptFile } from '../src/transcript-file.js';
import { fixtureBytes } from './fixture-streams.js';

const SESSION = '0c0ffee0-0000-4000-8000-000000000000';
const poisoned = fixtureBytes('2.1.183', 'root-C.transcript');
const callId = parseTranscript(poisoned).lines.flatMap(toolUses)[0]?.id ?? '';
let config: string;

beforeEach(() => {
  config = mkdtempSync(join(tmpdir(), 'engram-config-'));
});
afterEach(() => rmSync(config, { recursive: true, force: true }));

function place(folder: string): string {
  mkdirSync(join(config, 'projects', folder), { recursive: true });
  const path = join(config, 'projects', folder, `${SESSION}.jsonl`);
  writeFileSync(path, poisoned);
  chmodSync(path, 0o640);
  return path;
}

it('scrubs in one step with the mode kept, and the file as it was put aside', async () => {
  const path = place('-workspace');
  const backup = join(config, 'backup', 'before.jsonl');
  expect(await scrubTranscriptFile(path, callId, backup)).toMatchObject({ ok: true, removed: 1, relinked: 1 });
  expect(readFileSync(path).length).toBeLessThan(poisoned.length);
  expect(statSync(path).mode & 0o777).toBe(0o640);
  expect(readdirSync(join(config, 'projects', '-workspace'))).toEqual([`${SESSION}.jsonl`]);
  expect(readFileSync(backup).equals(poisoned)).toBe(true);
});

it('leaves the file alone when it declines', async () => {
  const path = place('-workspace');
  const { ino, mtimeMs } = statSync(path);
  expect(await scrubTranscriptFile(path, 'toolu_other')).toEqual({ ok: false, reason: 'question_missing' });
  expect(statSync(path)).toMatchObject({ ino, mtimeMs });
});

it('finds a conversation under the folder name of its cwd, or under another one', async () => {
  expect(await findTranscriptPath(config, '/workspace', SESSION)).toBeUndefined();
  const other = place('-a-shortened-name');
  expect(await findTranscriptPath(config, '/workspace', SESSION)).toBe(other);
  const path = place('-workspace');
  expect(await findTranscriptPath(config, '/workspace', SESSION)).toBe(path);
});
