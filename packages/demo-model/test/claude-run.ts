// Runs the real CLI for one prompt, in stream-json mode: every tool is allowed, every question gets
// the given answer. The process is ended by closing its stdin.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { DEMO_MODEL_NAME } from '../src/index.js';

export interface ClaudeRun {
  readonly claude: string;
  readonly url: string;
  readonly home: string;
  readonly workspace: string;
  readonly prompt: string;
  /** Given to every question. */
  readonly answer?: string;
}

const ARGS = [
  '-p --verbose --input-format stream-json --output-format stream-json --include-partial-messages',
  '--permission-prompt-tool stdio --permission-mode default --model',
  DEMO_MODEL_NAME,
]
  .join(' ')
  .split(' ');

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? { ...value } : {});

function allow(request: Fields, answer: string): Fields {
  const input = fieldsOf(request.input);
  if (request.tool_name !== 'AskUserQuestion' || !Array.isArray(input.questions)) {
    return { behavior: 'allow', updatedInput: input };
  }
  const answers = Object.fromEntries(input.questions.map((question) => [String(fieldsOf(question).question), answer]));
  return { behavior: 'allow', updatedInput: { ...input, answers } };
}

/** Resolves with the text of the result. */
export async function runClaude(run: ClaudeRun): Promise<string> {
  const child = spawn(run.claude, ARGS, {
    cwd: run.workspace,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: run.home,
      CLAUDE_CONFIG_DIR: join(run.home, '.claude'),
      TERM: 'dumb',
      LANG: 'C.UTF-8',
      ANTHROPIC_BASE_URL: run.url,
      ANTHROPIC_API_KEY: 'made-up',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const send = (line: Fields): void => void child.stdin.write(`${JSON.stringify(line)}\n`);
  let result = '';
  let problems = '';
  let held = '';
  child.stderr.on('data', (chunk: Buffer) => {
    problems += chunk.toString('utf8');
  });
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk: string) => {
    const lines = (held + chunk).split('\n');
    held = lines.pop() ?? '';
    for (const line of lines) {
      const message = fieldsOf(JSON.parse(line));
      if (message.type === 'control_request') {
        const response = allow(fieldsOf(message.request), run.answer ?? '');
        send({ type: 'control_response', response: { subtype: 'success', request_id: message.request_id, response } });
      }
      if (message.type === 'result') {
        result = String(message.result);
        child.stdin.end();
      }
    }
  });
  send({ type: 'user', message: { role: 'user', content: run.prompt } });
  const code = await closed;
  if (code !== 0) throw new Error(`claude ended with ${String(code)}: ${problems}`);
  return result;
}
