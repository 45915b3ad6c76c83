// `npm run record -- --claude VERSION|PATH [--into FOLDER] [CASE…]`: records the streams and conversations
// of one version of the real CLI against a scripted model, into tests/fixtures/claude-VERSION (which every
// test of recorded versions then reads). Paths of this machine are replaced, long texts cut.

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createDemoModel } from '@engram/demo-model';
import {
  claudeVersions,
  makeBareHome,
  questionHookSettings,
  repositoryRoot,
  startBareCli,
  startHookServer,
} from '@engram/testkit';
import { installAgent } from './install-agent.mjs';
import { CASES } from './record-cases.mjs';

const { values, positionals } = parseArgs({
  options: { claude: { type: 'string', default: claudeVersions().at(-1) }, into: { type: 'string' } },
  allowPositionals: true,
});
const bin = values.claude.includes('/')
  ? values.claude
  : installAgent(values.claude, (line) => process.stdout.write(`${line}\n`));
const version = /^\d+\.\d+\.\d+/.exec(execFileSync(bin, ['--version'], { encoding: 'utf8' }))?.[0];
const folder = values.into ?? join(repositoryRoot, 'tests/fixtures', `claude-${version}`);
const names = positionals.length > 0 ? positionals : Object.keys(CASES);
const unknown = names.filter((name) => !(name in CASES));
if (unknown.length > 0)
  throw new Error(`no such case: ${unknown.join(', ')}; there are: ${Object.keys(CASES).join(', ')}`);

function save(name, lines) {
  writeFileSync(join(folder, `${name}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

async function record(plan) {
  let reply = plan.reply ?? { decision: 'defer' };
  const hook = await startHookServer(async ({ tool_input: input }) => {
    const { decision, reason, answers, afterMs = 200 } = reply;
    await pause(afterMs);
    if (decision !== 'allow') return { decision, ...(reason === undefined ? {} : { reason }) };
    return { decision, updatedInput: { ...input, answers } };
  });
  const settings = questionHookSettings(hook.url, { disableAllHooks: false });
  settings.hooks.PreToolUse.push(...(plan.hooks ?? []));
  const home = makeBareHome(settings);
  const workspace = realpathSync(home.workspace);
  const model = await createDemoModel({ scenarios: { RECORD: inWorkspace(plan.steps ?? [], workspace) } });
  for (const [file, content] of Object.entries(plan.files ?? {})) writeFileSync(join(workspace, file), content);
  const prompt = plan.prompt ?? '[[RECORD]] please';
  try {
    let resume;
    for (const earlier of plan.before ?? []) {
      reply = earlier;
      const cli = start({ plan: {}, home, model, resume });
      if (resume === undefined) cli.send(userLine('[[RECORD]] please'));
      resume = (await cli.wait((line) => line.type === 'result')).session_id;
      await cli.end();
    }
    reply = plan.reply ?? reply;
    const cli = start({ plan, home, model, resume });
    if (plan.initialize) cli.send(control({ subtype: 'initialize' }));
    if (resume === undefined || plan.prompt !== undefined) cli.send(userLine(prompt));
    if (plan.interruptAfterMs !== undefined) {
      await cli.wait((line) => line.type === 'system' && line.subtype === 'init');
      await pause(plan.interruptAfterMs);
      cli.send(control({ subtype: 'interrupt' }));
    }
    await cli.wait(() => cli.lines.filter((line) => line.type === 'result').length >= (plan.turns ?? 1), 60_000);
    await pause(plan.quietMs ?? 100);
    await cli.end();
    const clean = toCleaner(home, workspace);
    return { lines: cli.lines.map(clean), transcript: conversationOf(home).map(clean) };
  } finally {
    await hook.close();
    await model.close();
    home.remove();
  }
}

/** As the harness's tests were recorded: every other tool is allowed, as root too. */
function start({ plan, home, model, resume }) {
  return startBareCli({
    bin,
    modelUrl: model.url,
    home,
    permissionMode: 'bypassPermissions',
    partialMessages: false,
    args: plan.args ?? [],
    env: { IS_SANDBOX: '1', ...plan.env },
    ...(resume === undefined ? {} : { resume }),
  });
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const control = (request) => ({ type: 'control_request', request_id: randomUUID(), request });
const userLine = (text) => ({
  type: 'user',
  uuid: randomUUID(),
  message: { role: 'user', content: text },
  parent_tool_use_id: null,
});

/** The cases speak of /workspace; the CLI works in a folder of its own. */
function inWorkspace(steps, workspace) {
  return steps.map((step) =>
    typeof step === 'function' ? step : JSON.parse(JSON.stringify(step).replaceAll('/workspace/', `${workspace}/`)),
  );
}

function conversationOf(home) {
  const projects = join(home.home, '.claude/projects');
  const [file] = readdirSync(projects, { recursive: true }).filter((name) => name.endsWith('.jsonl'));
  return readFileSync(join(projects, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const LONG = 1_500;

function toCleaner(home, workspace) {
  const root = realpathSync(home.root);
  const slug = root.replace(/[^a-zA-Z0-9]/g, '-');
  const plain = (words) => {
    const own = words
      .replaceAll(workspace, '/workspace')
      .replaceAll(join(root, 'home'), '/home/agent')
      .replaceAll(root, '/run')
      .replaceAll(slug, '');
    return own.length > LONG ? `${own.slice(0, 200)}… [${own.length - 200} more]` : own;
  };
  const clean = (value) => {
    if (typeof value === 'string') return plain(value);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, clean(one)]));
  };
  return (line) => {
    const { attachment } = line;
    // What the CLI tells the model about itself is long, and nobody's business here.
    const own = attachment && !String(attachment.type).startsWith('hook_') ? { type: attachment.type } : attachment;
    return clean(own === undefined ? line : { ...line, attachment: own });
  };
}

mkdirSync(folder, { recursive: true });
for (const name of names) {
  const { lines, transcript } = await record(CASES[name]);
  save(name, lines);
  if (CASES[name].transcript) save(`${name}.transcript`, transcript);
  process.stdout.write(`${name}: ${lines.length} lines\n`);
}
