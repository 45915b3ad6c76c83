// What is recorded of each version of the CLI, by name: the prompts of a case, how its hook decides, and
// what lies in the workspace. The names are those of tests/fixtures/README.md; the tests of each version
// read them. Pure.

import { ask, DATABASE_QUESTION, EDITOR_QUESTION, echo, LANGUAGES_QUESTION, text, tool } from '@engram/demo-model';

const TEN = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n';
const read = (name = 'a.txt') => ({ blocks: [tool('Read', { file_path: `/workspace/${name}` })] });
const edit = (old_string, new_string, replace_all = false) =>
  tool('Edit', { replace_all, file_path: '/workspace/a.txt', old_string, new_string });
const write = (name, content) => tool('Write', { file_path: `/workspace/${name}`, content });
const done = { blocks: [text('done')] };
const bash = tool('Bash', { command: 'echo side-effect', description: 'echo' });

const allow = (answers, more = {}) => ({ decision: 'allow', answers, ...more });
const DEFER = { decision: 'defer' };
const DENY = { decision: 'deny', reason: 'The user dismissed the question.' };
const ONE = { 'Which database?': 'SQLite' };
const BOTH = { 'Which languages?': ['Python', 'Go'], 'Which editor?': 'none of these, Helix' };

const asks = (...blocks) => [{ blocks }, echo];
const files = (steps, start = TEN) => ({ steps, files: { 'a.txt': start } });
/** The turn that asks, then a resume with the hook's reply; the second is what the name says. */
const resumed = (steps, reply, more = {}) => ({ steps, before: [DEFER], reply, ...more });

const DENIAL = JSON.stringify({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: 'no edits today',
  },
});

const notebook = JSON.stringify({
  cells: [{ cell_type: 'code', id: 'c1', metadata: {}, source: ['print(1)'], outputs: [], execution_count: null }],
  metadata: { kernelspec: { name: 'python3', display_name: 'Python 3', language: 'python' } },
  nbformat: 4,
  nbformat_minor: 5,
});

/**
 * `steps`: the model's turns; `reply`: the hook's, to every fire; `before`: those of the processes before the one
 * that is recorded, each resumed by the next. `hooks`: more of them. `transcript`: the conversation's file is kept too.
 */
export const CASES = {
  'defer-ask1': { steps: asks(ask(DATABASE_QUESTION)), reply: DEFER, transcript: true },
  'resume-answer-single': resumed(asks(ask(DATABASE_QUESTION)), allow(ONE)),
  'resume-answer-multi': resumed(asks(ask(LANGUAGES_QUESTION, EDITOR_QUESTION)), allow(BOTH), { transcript: true }),
  'resume-answer-multi-string': resumed(asks(ask(LANGUAGES_QUESTION)), allow({ 'Which languages?': 'Python, Go' })),
  'resume-defer-again': resumed(asks(ask(DATABASE_QUESTION)), DEFER),
  'resume-answer-after-2-defers': { steps: asks(ask(DATABASE_QUESTION)), before: [DEFER, DEFER], reply: allow(ONE) },
  'resume-deny': resumed(asks(ask(DATABASE_QUESTION)), DENY),
  'resume-new-prompt-and-answer': resumed(asks(ask(DATABASE_QUESTION)), allow(ONE), { prompt: '[[HI]]', turns: 2 }),
  'parallel-auq-bash': { steps: asks(ask(DATABASE_QUESTION), bash), reply: { ...DEFER, afterMs: 900 } },
  'parallel-bash-auq': { steps: asks(bash, ask(DATABASE_QUESTION)), reply: { ...DEFER, afterMs: 900 } },
  'subagent-auq': {
    steps: [
      { blocks: [tool('Agent', { description: 'sub', prompt: '[[ASK1]] please', subagent_type: 'general-purpose' })] },
      done,
    ],
    reply: DEFER,
    quietMs: 1500,
  },
  'inv-initialize-partial-replay': {
    prompt: '[[HI]]',
    initialize: true,
    args: ['--include-partial-messages', '--replay-user-messages'],
  },
  ...Object.fromEntries(
    ['E400', 'E401', 'E429', 'E500', 'E529', 'ESSE'].map((name) => [
      `inv-error-${name}`,
      { prompt: `[[${name}]] go`, env: { CLAUDE_CODE_MAX_RETRIES: '1' } },
    ]),
  ),
  'inv-interrupt-text': { prompt: '[[SLOW:8]] go', interruptAfterMs: 1500 },
  'file-write-create': files([{ blocks: [write('new.txt', 'hello\nworld\n')] }, done]),
  'file-write-overwrite': files([read(), { blocks: [write('a.txt', TEN.replace('two', 'TWO'))] }, done]),
  'file-write-overwrite-same': files([read(), { blocks: [write('a.txt', TEN)] }, done]),
  'file-edit': files([read(), { blocks: [edit('two', 'TWO\nTWO-B')] }, done]),
  'file-edit-all': files([read(), { blocks: [edit('e', 'E', true)] }, done], TEN + TEN),
  'file-edit-fail': files([read(), { blocks: [edit('absent', 'x')] }, done]),
  'file-edit-denied': {
    ...files([read(), { blocks: [edit('two', 'TWO')] }, done]),
    hooks: [{ matcher: 'Edit', hooks: [{ type: 'command', command: `echo '${DENIAL}'` }] }],
  },
  'file-multiedit': files([
    read(),
    {
      blocks: [tool('MultiEdit', { file_path: '/workspace/a.txt', edits: [{ old_string: 'one', new_string: 'ONE' }] })],
    },
    done,
  ]),
  'file-write-stale': files([
    read(),
    { blocks: [tool('Bash', { command: 'sleep 1; echo extra >> /workspace/a.txt', description: 'x' })] },
    { blocks: [write('a.txt', 'replaced\n')] },
    done,
  ]),
  'file-parallel-edits': files([read(), { blocks: [edit('two', '2'), edit('nine', '9')] }, done]),
  'file-no-eof-newline': files([read(), { blocks: [edit('three', 'THREE')] }, done], 'one\ntwo\nthree'),
  'file-crlf': files([read(), { blocks: [edit('two\nthree', 'TWO\nTHREE')] }, done], 'one\r\ntwo\r\nthree\r\n'),
  'file-unicode': files([read(), { blocks: [edit('zwei 🎉', 'дuo 🚀')] }, done], 'eins\nzwei 🎉 é\ndrei\n'),
  'file-notebook': {
    files: { 'n.ipynb': notebook },
    steps: [
      read('n.ipynb'),
      {
        blocks: [tool('NotebookEdit', { notebook_path: '/workspace/n.ipynb', cell_id: 'c1', new_source: 'print(2)' })],
      },
      done,
    ],
  },
};
