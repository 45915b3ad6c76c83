// The client commands against a running Engram and the real CLI with the demo's scripted model.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { claudeVersions, cleanEnvironment, type Engram, repositoryRoot, startEngram } from '@engram/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let engram: Engram;
beforeAll(async () => {
  engram = await startEngram({ claudeVersion: claudeVersions().at(-1) ?? '' });
});
afterAll(async () => {
  await engram.stop();
});

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function command(...args: string[]): Promise<Ran> {
  const main = join(repositoryRoot, 'packages/cli/dist/main.js');
  const child = spawn(process.execPath, [main, ...args, '--data-dir', engram.dataDir], {
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })));
}

const documents = (text: string): readonly { type: string; [field: string]: unknown }[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('the engram command', () => {
  it('runs a task to its question, tells how to answer, and the told command does', async () => {
    expect((await command('pending')).out).toBe('nothing waits for you\n');
    const run = await command('run', 'Show me the demo', '--demo', '--empty');
    expect(run.code).toBe(0);
    expect(run.out).toContain('± greet.mjs (new) +6 −0');
    expect(run.out).not.toContain('— done');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is the claim
    expect(run.out).not.toMatch(/\u001b/);
    const told = /answer with: npm run engram -- (answer \S+ \S+ --choose 1) --data-dir (\S+) /.exec(run.out);
    expect(told?.[2]).toBe(engram.dataDir);

    const pending = await command('pending', '--json');
    const [document] = documents(pending.out);
    expect(document).toMatchObject({ questions: [{ state: 'waiting' }] });
    expect((await command('sessions')).out).toContain('waiting');

    const words = (told?.[1] ?? '').split(' ');
    const sessionId = words[1] ?? '';
    const answered = await command(...words);
    expect(answered).toMatchObject({ code: 0, out: 'stored; the agent gets it as soon as it is awake\n' });
    const events = await engram.api.eventsUntil(
      sessionId,
      (event, before) => event.type === 'run_completed' && before.some(({ type }) => type === 'question_answered'),
    );
    expect(events.filter(({ type }) => type === 'question_answered')).toHaveLength(1);

    const logs = await command('logs', sessionId);
    expect(logs.out).toContain('→ Friendly');
    const asJson = documents((await command('logs', sessionId, '--json', '--since', '3')).out);
    expect(asJson[0]?.idx).toBe(4);
    expect(asJson.map((event) => event.idx)).toEqual(asJson.map((_, at) => at + 4));
  });

  it('refuses an answer that fits no question, and says so in one line', async () => {
    const nothing = await command('answer', '00000000-0000-4000-8000-000000000000', '--choose', '1');
    expect(nothing.code).toBe(1);
    expect(nothing.err.trim().split('\n')).toHaveLength(1);
    expect(nothing.err).toContain('not_found');
  });

  it('prints a one-time link that opens the page once', async () => {
    const { out } = await command('open', '--no-browser');
    const first = await fetch(out.trim(), { redirect: 'manual' });
    expect(first.status).toBe(303);
    expect(first.headers.get('set-cookie')).toContain('HttpOnly');
    const second = await fetch(out.trim(), { redirect: 'manual' });
    expect(second.headers.get('set-cookie')).toBeNull();
  });

  it('makes a token for a further owner, who does not see the first one’s sessions', async () => {
    const made = await command('token', 'create', 'Ada', '--json');
    expect(made.code).toBe(0);
    const { token } = JSON.parse(made.out);
    const list = await fetch(`${engram.url}/api/v1/sessions`, { headers: { authorization: `Bearer ${token}` } });
    expect(list.status).toBe(200);
    expect(await list.json()).toEqual({ sessions: [] });
  });

  it('says that nothing runs when nothing runs', async () => {
    const main = join(repositoryRoot, 'packages/cli/dist/main.js');
    const child = spawn(
      process.execPath,
      [main, 'sessions', '--json', '--data-dir', join(engram.dataDir, 'nothing-here')],
      { env: cleanEnvironment() },
    );
    let err = '';
    child.stderr.on('data', (chunk) => {
      err += String(chunk);
    });
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(1);
    expect(JSON.parse(err).error.code).toBe('not_running');
  });
});

describe('engram doctor', () => {
  it('tries everything with the real CLI and finds it in order', async () => {
    const { code, out } = await command('doctor', '--json');
    const { ok, findings } = JSON.parse(out);
    expect(findings.filter((finding: { verdict: string }) => finding.verdict === 'fail')).toEqual([]);
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    expect(findings.map((finding: { check: string }) => finding.check)).toEqual([
      'node',
      'data folder',
      'web app',
      'claude',
      'PostgreSQL and server',
      'isolation',
      'question tool',
      'hook round trip',
      'credentials',
    ]);
  });
});
