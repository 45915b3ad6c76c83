// What agents say and do on the web app's stage: small makers of events, and the scenes that tests,
// benches and screenshots of the page share.

import type { FileChange, HarnessEvent, Question, QuestionOption, Truncation } from '@engram/harness-proto';

export function says(runId: string, messageId: string, text: string): HarnessEvent {
  return { type: 'agent_message', run_id: runId, message_id: messageId, role: 'assistant', text };
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly result: string;
  readonly ok?: boolean;
  readonly ms?: number;
}

export function calls(runId: string, { id, name, args, result, ok = true, ms = 40 }: Call): readonly HarnessEvent[] {
  const common = { run_id: runId, tool_call_id: id, tool_name: name } as const;
  return [
    { type: 'tool_call_started', ...common, args_summary: JSON.stringify(args) },
    { type: 'tool_call_completed', ...common, ok, duration_ms: ms, result_summary: result },
  ];
}

export function changes(
  runId: string,
  callId: string,
  path: string,
  change: FileChange,
  truncation?: Truncation,
): HarnessEvent {
  const event = { type: 'file_changed', run_id: runId, tool_call_id: callId, path, change } as const;
  return truncation === undefined ? event : { ...event, truncation };
}

/** A patch of one hunk; what it counts is what its lines say. */
export function patch(
  kind: 'create' | 'update' | 'overwrite',
  lines: readonly string[],
  { start = 1, approximate = false }: { readonly start?: number; readonly approximate?: boolean } = {},
): FileChange {
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  const [additions, deletions, same] = [count('+'), count('-'), count(' ')];
  const hunk = {
    old_start: deletions + same === 0 ? 0 : start,
    old_lines: deletions + same,
    new_start: additions + same === 0 ? 0 : start,
    new_lines: additions + same,
    lines,
  };
  return { type: 'patch', kind, hunks: [hunk], additions, deletions, approximate };
}

export function choice(
  question: string,
  header: string,
  labels: readonly (string | QuestionOption)[],
  multi = false,
): Question {
  const options = labels.map((label) => (typeof label === 'string' ? { label, description: '' } : label));
  return { question, header, multi_select: multi, options };
}

/** As a deferred question comes: the run ends with it and nobody is there while it waits. */
export function asks(
  runId: string,
  callId: string,
  questions: readonly Question[],
  previews?: readonly (readonly string[])[],
): readonly HarnessEvent[] {
  const asked = { type: 'user_question', run_id: runId, tool_call_id: callId, questions } as const;
  return [
    previews === undefined ? asked : { ...asked, option_previews: previews },
    { type: 'run_completed', run_id: runId, ok: true },
    { type: 'harness_idle' },
  ];
}

export const DATABASE_QUESTION = choice('Which database should the queue use?', 'Database', [
  { label: 'PostgreSQL', description: 'Mature, LISTEN/NOTIFY' },
  { label: 'SQLite', description: 'One file, no server' },
  { label: 'Redis', description: 'In memory' },
]);
export const CHECKS_QUESTION = choice(
  'Which checks should run in CI?',
  'Checks',
  [
    { label: 'Lint, strict', description: 'Slow' },
    { label: 'Unit tests', description: 'Seconds' },
    { label: 'End to end', description: 'Needs a browser' },
  ],
  true,
);

const IMPORTER_LINES = [
  ' import fs from "node:fs";',
  ' import { parse } from "./parse.js";',
  ' ',
  ' export async function importFile(file: string) {',
  '-  const rows = fs.readFileSync(file, "utf8").split("\\n");',
  '-  for (const row of rows) await write(parse(row));',
  '+  const rows = readline(fs.createReadStream(file));',
  '+  for await (const row of rows) {',
  '+    await write(parse(row));',
  '+  }',
  ' }',
  ' ',
  ' export const defaults = { batch: 500, retries: 3 };',
];

/** A task with a plan, tools that fail and succeed, and changes of several kinds. */
export function importerScene(runId: string, promptId: string): readonly HarnessEvent[] {
  const path = 'test/fixtures/very/long/folder/name/that/does/not/fit/import-streams.test.ts';
  return [
    { type: 'run_started', run_id: runId, prompt_id: promptId },
    {
      type: 'notice',
      level: 'info',
      code: 'permission_policy',
      message:
        'Engram allows every tool call in this session, because nobody sits beside the agent to be asked; each call stands in the log with what it was called with and what came of it.',
    },
    says(
      runId,
      'm1',
      "I'll start with the parser, then the writer.\n\n## Plan\n1. Read `src/import.ts`\n2. Replace the buffer with a **stream**\n3. Run the tests\n\n```ts\nexport async function* rows(file: string) {\n  for await (const line of lines(file)) yield parse(line);\n}\n```\n\n| step | risk |\n| --- | --- |\n| parser | low |\n| writer | medium |",
    ),
    ...calls(runId, { id: 'read', name: 'Read', args: { file_path: 'src/import.ts' }, result: '1\timport fs …' }),
    ...calls(runId, { id: 'edit', name: 'Edit', args: { file_path: 'src/import.ts' }, result: 'edited' }),
    changes(runId, 'edit', 'src/import.ts', patch('update', IMPORTER_LINES, { start: 40 })),
    ...calls(runId, { id: 'make', name: 'Write', args: { file_path: path }, result: 'written' }),
    changes(
      runId,
      'make',
      path,
      patch(
        'create',
        Array.from({ length: 12 }, (_, i) => `+it('case ${i}', () => expect(parse("${i}")).toBe(${i}));`),
      ),
    ),
    ...calls(runId, { id: 'over', name: 'Write', args: { file_path: 'config/importer.json' }, result: 'written' }),
    changes(
      runId,
      'over',
      'config/importer.json',
      patch('overwrite', ['-{ "a": 1,', '-  "b": 2,', '-  "c": 3 }', '+{ "a": 1,', '+  "b": 2 }']),
    ),
    ...calls(runId, {
      id: 'red',
      name: 'Bash',
      args: { command: 'npm test -- --run import', description: 'Run the tests' },
      result: 'Exit code 1\n✕ import › keeps order (12 ms)\n  expected "a" to be "b"',
      ok: false,
      ms: 14_300,
    }),
    ...calls(runId, {
      id: 'green',
      name: 'Bash',
      args: { command: 'npm test -- --run import', description: 'Run the tests' },
      result: '42 passed',
      ms: 9_100,
    }),
    says(runId, 'm2', 'The tests pass. Two choices are yours before I go on.'),
    {
      type: 'usage',
      run_id: runId,
      input_tokens: 1_200,
      output_tokens: 18_400,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      cost_micro_usd: 412_000,
    },
  ];
}

/** A long session: `count` events of tools and messages in one run, which stays open. */
export function longScene(runId: string, promptId: string, count: number): readonly HarnessEvent[] {
  const events: HarnessEvent[] = [{ type: 'run_started', run_id: runId, prompt_id: promptId }];
  for (let i = 0; events.length < count; i += 1) {
    events.push(
      ...calls(runId, { id: `t${i}`, name: 'Bash', args: { command: `echo ${i}` }, result: `line ${i}` }),
      says(runId, `m${i}`, `Step **${i}** is done; \`x${i}\` follows.`),
    );
  }
  return events.slice(0, count);
}

/** A patch of `count` lines in which some are added, some removed and most stay. */
export function longPatch(count: number): FileChange {
  const sign = (i: number) => (i % 7 === 0 ? '+' : i % 11 === 0 ? '-' : ' ');
  return patch(
    'update',
    Array.from({ length: count }, (_, i) => `${sign(i)}const line${i} = compute(${i});`),
  );
}
