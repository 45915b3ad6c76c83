// The doctor's trial: a whole Engram of its own in a temporary folder, the real CLI against the demo
// model, one question asked and answered. What it reached says which part is broken.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClient, createApiClient } from './api-client.js';
import { cliMain } from './installation.js';

export interface Trial {
  /** Milliseconds until ready; absent when it did not start. */
  readonly readyMs?: number;
  readonly isolation?: string;
  /** A question of the agent became a card: the tool is there, the hook was asked, the call deferred. */
  readonly asked: boolean;
  /** The answer reached the agent under the same call: the hook round trip is whole. */
  readonly answered: boolean;
  /** What went wrong, in the program's own words. */
  readonly problem?: string;
}

const READY_MS = 60_000;
const STORY_MS = 60_000;

export async function runTrial(env: Readonly<Record<string, string>>, claudeBin: string): Promise<Trial> {
  const folder = await mkdtemp(join(tmpdir(), 'engram-doctor-'));
  const started = Date.now();
  const child = spawn(process.execPath, [cliMain, 'up', '--json', '--port', '0', '--data-dir', folder], {
    env: { ...env, ENGRAM_CLAUDE_BIN: claudeBin, ENGRAM_IDLE_MS: '1000' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    words += chunk;
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  try {
    const ready = await Promise.race([firstLine(child.stdout), ended.then(() => undefined), after(READY_MS)]);
    const facts = parseReady(ready);
    if (facts === undefined) return { asked: false, answered: false, problem: toSentence(words) };
    const token = (await readFile(join(folder, 'token'), 'utf8')).trim();
    const story = await tellStory(createApiClient({ url: facts.url, token }));
    return { readyMs: Date.now() - started, isolation: facts.isolation, ...story };
  } finally {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
}

async function tellStory(api: ApiClient): Promise<Pick<Trial, 'asked' | 'answered' | 'problem'>> {
  const session = await api.createSession({
    prompt: 'Show me the demo',
    model: 'engram-demo',
    workspace: { kind: 'empty' },
  });
  let asked = false;
  for await (const event of api.stream(session.id, { signal: AbortSignal.timeout(STORY_MS) })) {
    if (event.type === 'user_question') {
      asked = true;
      const [waiting] = (await api.getSession(session.id)).awaiting;
      if (waiting === undefined) return { asked, answered: false, problem: 'the question did not wait' };
      const answers = Object.fromEntries(
        waiting.questions.map((each) => [each.question, [each.options[0]?.label ?? 'yes']]),
      );
      await api.answer(session.id, waiting.tool_call_id, answers);
    }
    if (event.type === 'question_answered') return { asked, answered: true };
    if (event.type === 'session_error') return { asked, answered: false, problem: String(event.message) };
  }
  return {
    asked,
    answered: false,
    problem: asked ? 'the answer did not reach the agent in time' : 'the agent did not ask in time',
  };
}

function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      text += chunk;
      const at = text.indexOf('\n');
      if (at >= 0) resolve(text.slice(0, at));
    });
  });
}

function parseReady(line: string | undefined): { url: string; isolation: string } | undefined {
  if (line === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('url' in value) || !('isolation' in value)) return undefined;
    return { url: String(value.url), isolation: String(value.isolation) };
  } catch {
    return undefined;
  }
}

/** With --json the error is a document; its message is what a person wants. */
function toSentence(words: string): string {
  const last = words.trim().split('\n').at(-1) ?? '';
  try {
    const value: unknown = JSON.parse(last);
    if (typeof value === 'object' && value !== null && 'error' in value) {
      const { error } = value;
      if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message);
    }
  } catch {
    // Not a document: the words as they are.
  }
  return words.trim() === '' ? 'it gave no sign within a minute' : words.trim();
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
}
