// The real CLI with one thing bent, given as `exec_prefix` of a launch: [node, this file, JSON], then
// the CLI's own argv. It makes the harness meet what it prevents: it is told too early that a message
// ended (`earlyStop`), the CLI learns late that it should leave (`holdStdinMs`), its conversation is
// torn once it is gone (`tear`), or an argument is missing (`without`).

import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [plan, bin, ...given] = process.argv.slice(2);
const { earlyStop, holdStdinMs = 0, tear, without = [] } = JSON.parse(plan);
const args = given.filter((arg) => !without.includes(arg));
const cli = spawn(bin, args, { stdio: ['pipe', 'pipe', 'inherit'] });

process.stdin.on('data', (chunk) => cli.stdin.write(chunk));
process.stdin.on('end', () => setTimeout(() => cli.stdin.end(), holdStdinMs));
cli.stdin.on('error', () => undefined);

let rest = '';
cli.stdout.setEncoding('utf8');
cli.stdout.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    process.stdout.write(`${line}\n`);
    if (earlyStop && line.includes('content_block_start') && line.includes('"AskUserQuestion"')) {
      const message = JSON.parse(line);
      process.stdout.write(`${JSON.stringify({ ...message, event: { type: 'message_stop' } })}\n`);
    }
  }
});

// The group is signalled as one: the CLI has its own signal, and we stay until it is gone.
process.on('SIGTERM', () => undefined);
cli.on('exit', (code) => {
  if (tear) tearConversations();
  process.exit(code ?? 1);
});

/** Cuts the line that asks in half, as a crash inside a write would. */
function tearConversations() {
  const projects = join(process.env.CLAUDE_CONFIG_DIR, 'projects');
  for (const name of readdirSync(projects, { recursive: true })) {
    if (!name.endsWith('.jsonl')) continue;
    const path = join(projects, name);
    const lines = readFileSync(path, 'utf8').split('\n');
    const torn = lines.map((line) =>
      line.includes('"name":"AskUserQuestion"') ? line.slice(0, line.length / 2) : line,
    );
    writeFileSync(path, torn.join('\n'));
  }
}
