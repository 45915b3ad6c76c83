// The scripted model against the real CLI: what the model says is what the agent does.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createDemoModel, DEMO_MODEL_NAME, type DemoModel, STORY_FILE } from '../src/index.js';

const claudeOf = (version: string): string =>
  join(
    import.meta.dirname,
    `../../../agents/claude-${version}/node_modules/@anthropic-ai/claude-code-linux-x64/claude`,
  );
const folders: string[] = [];
let model: DemoModel | undefined;
afterEach(async () => {
  await model?.close();
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

async function folder(name: string): Promise<string> {
  const made = await realpath(await mkdtemp(join(tmpdir(), `demo ${name}-`)));
  folders.push(made);
  return made;
}

/** One prompt in print mode; file edits are allowed, questions do not exist in this mode. */
async function runClaude(claude: string, url: string, workspace: string, prompt: string): Promise<string> {
  const home = await folder('home');
  const child = spawn(claude, ['-p', prompt, '--model', DEMO_MODEL_NAME, '--permission-mode', 'acceptEdits'], {
    cwd: workspace,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, '.claude'),
      TERM: 'dumb',
      LANG: 'C.UTF-8',
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'made-up',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString('utf8');
  });
  let problems = '';
  child.stderr.on('data', (chunk: Buffer) => {
    problems += chunk.toString('utf8');
  });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  expect(problems + out, `exit code ${String(code)}`).not.toBe('');
  expect(code).toBe(0);
  return out;
}

describe.each(['2.1.183', '2.1.332'])('with CLI %s', (version) => {
  const claude = claudeOf(version);
  it.runIf(existsSync(claude))('answers the CLI and names the asked model', async () => {
    model = await createDemoModel();
    expect(await runClaude(claude, model.url, await folder('ws'), '[[HI]]')).toContain('hi there');
    expect(model.requests.find((entry) => entry.scenario === 'HI')?.model).toBe(DEMO_MODEL_NAME);
  });

  it.runIf(existsSync(claude))('writes into the workspace that the request names', async () => {
    model = await createDemoModel();
    const workspace = await folder('ws');
    expect(await runClaude(claude, model.url, workspace, '[[WRITE]]')).toContain('RESULTS');
    expect(await readFile(join(workspace, 'hello.txt'), 'utf8')).toBe('hello\nworld\n');
  });

  it.runIf(existsSync(claude))('runs the story on any prompt', async () => {
    model = await createDemoModel({ story: true });
    const workspace = await folder('ws');
    await runClaude(claude, model.url, workspace, 'Show me what you can do');
    expect(await readFile(join(workspace, STORY_FILE), 'utf8')).toContain('name.trim()');
    expect(model.requests.filter((entry) => entry.scenario === '(story)').length).toBeGreaterThanOrEqual(3);
  });
});
