// The scenarios every demo model knows, chosen by a marker in the prompt. File paths lie in the
// agent's own workspace; an argument names another file there, a command or a number.

import {
  ask,
  type Block,
  type ReplyContext,
  type Scenario,
  type ScriptedQuestion,
  type Step,
  type StepScript,
  text,
  thinking,
  tool,
} from './reply-script.js';

export const DATABASE_QUESTION: ScriptedQuestion = {
  question: 'Which database?',
  header: 'Database',
  multiSelect: false,
  options: [
    { label: 'Postgres', description: 'relational' },
    { label: 'SQLite', description: 'embedded' },
  ],
};
export const LANGUAGES_QUESTION: ScriptedQuestion = {
  question: 'Which languages?',
  header: 'Langs',
  multiSelect: true,
  options: [
    { label: 'Python', description: 'p' },
    { label: 'Rust', description: 'r' },
    { label: 'Go', description: 'g' },
  ],
};
export const EDITOR_QUESTION: ScriptedQuestion = {
  ...DATABASE_QUESTION,
  question: 'Which editor?',
  header: 'Editor',
};

/** Repeats what the tools returned, so that a test reads in a transcript what the model was told. */
export const echo = (context: Pick<ReplyContext, 'results'>): Step => ({
  blocks: [text(`RESULTS ${JSON.stringify(context.results.map((result) => result.content)).slice(0, 1500)}`)],
});

const once = (...blocks: readonly Block[]): readonly StepScript[] => [{ blocks }, echo];
const echoBash: Block = tool('Bash', { command: 'echo side-effect', description: 'echo' });

const inWorkspace = (context: ReplyContext, fallback: string): string =>
  `${context.workspace}/${context.arg === undefined || context.arg === '' ? fallback : context.arg}`;
const count = (context: ReplyContext, fallback: number): number => {
  const wanted = Number(context.arg ?? '');
  return Number.isInteger(wanted) && wanted > 0 ? wanted : fallback;
};

/** Read a file, then do something to it: the file tools refuse a file that was not read. */
const afterRead =
  (name: string, rest: (path: string) => Readonly<Record<string, unknown>>, fallback = 'a.txt'): Scenario =>
  (context) => {
    const path = inWorkspace(context, fallback);
    const target = name === 'NotebookEdit' ? { notebook_path: path } : { file_path: path };
    return [
      { blocks: [tool('Read', { file_path: path })] },
      { blocks: [tool(name, { ...target, ...rest(path) })] },
      echo,
    ];
  };

const subagent = (name: string): readonly StepScript[] =>
  once(tool(name, { description: 'sub', prompt: '[[ASK1]] please', subagent_type: 'general-purpose' }));

const refuse = (status: number, type: string, headers: Readonly<Record<string, string>> = {}): Scenario => [
  { error: { status, type, message: `scripted ${status}`, headers } },
];

export const BUILTIN_SCENARIOS: Readonly<Record<string, Scenario>> = {
  HI: [{ blocks: [text('hi there')] }],
  SAY: (context) => [{ blocks: [text(context.arg ?? '')] }],

  ASK1: once(ask(DATABASE_QUESTION)),
  ASK2: once(ask(LANGUAGES_QUESTION, EDITOR_QUESTION)),
  ASKTWICE: [{ blocks: [ask(DATABASE_QUESTION)] }, { blocks: [ask(LANGUAGES_QUESTION)] }, echo],
  /** That many questions, one after another. */
  ASKN: (context) => [
    ...Array.from({ length: count(context, 3) }, (_, index) => ({
      blocks: [ask({ ...DATABASE_QUESTION, question: `Question ${index + 1}?` })],
    })),
    echo,
  ],
  /** Asks, then writes what it was told to answer.txt. */
  ASKWRITE: (context) => [
    { blocks: [ask(DATABASE_QUESTION)] },
    ({ results }) => ({
      blocks: [
        tool('Write', {
          file_path: inWorkspace(context, 'answer.txt'),
          content: `${results.map((result) => result.content).join('\n')}\n`,
        }),
      ],
    }),
    echo,
  ],
  NARRATE: once(text('Let me ask you something first.'), ask(DATABASE_QUESTION)),
  ASKTEXT: once(ask(DATABASE_QUESTION), text('There was an internal error retrieving your answer.')),
  ASKMAX: [{ blocks: [ask(DATABASE_QUESTION)], stop: 'max_tokens' }, echo],
  ASKEND: [{ blocks: [ask(DATABASE_QUESTION)], stop: 'end_turn' }, echo],
  THINKASK: [{ blocks: [thinking('hmm'), ask(DATABASE_QUESTION)] }, echo],
  SLOWASK: [
    {
      blocks: [text('Thinking about it. '), ask(DATABASE_QUESTION)],
      chunk: 15,
      delay: 60,
      beforeDelta: 1500,
      beforeStop: 1500,
    },
    echo,
  ],
  PARALLEL: once(ask(DATABASE_QUESTION), echoBash),
  PARALLELR: once(echoBash, ask(DATABASE_QUESTION)),
  PARALLEL2: once(ask(DATABASE_QUESTION), ask(LANGUAGES_QUESTION)),
  /** Reacts to a denial of its question by asking again, alone. */
  PARALLELRETRY: [{ blocks: [ask(DATABASE_QUESTION), echoBash] }, { blocks: [ask(DATABASE_QUESTION)] }, echo],
  SUBAGENT: subagent('Task'),
  SUBAGENT2: subagent('Agent'),

  SLOW: (context) => [
    {
      blocks: [text('one two three four five six seven eight nine ten '.repeat(count(context, 4)))],
      chunk: 10,
      delay: 100,
    },
  ],
  /** Says hello only after `model.open(argument)`. */
  GATE: (context) => [{ blocks: [text('through the gate')], gate: context.arg ?? 'gate' }],

  WRITE: (context) => once(tool('Write', { file_path: inWorkspace(context, 'hello.txt'), content: 'hello\nworld\n' })),
  OVERWRITE: afterRead('Write', () => ({ content: 'one\nTWO\nthree\nfour\n' })),
  EDIT: afterRead('Edit', () => ({ old_string: 'two', new_string: 'TWO' })),
  EDITALL: afterRead('Edit', () => ({ old_string: 'o', new_string: '0', replace_all: true })),
  EDITFAIL: afterRead('Edit', () => ({ old_string: 'absent', new_string: 'x' })),
  EDITUNREAD: (context) =>
    once(tool('Edit', { file_path: inWorkspace(context, 'a.txt'), old_string: 'two', new_string: 'TWO' })),
  MULTIEDIT: afterRead('MultiEdit', () => ({
    edits: [
      { old_string: 'one', new_string: 'ONE' },
      { old_string: 'three', new_string: 'THREE' },
    ],
  })),
  NOTEBOOK: afterRead('NotebookEdit', () => ({ cell_id: 'c1', new_source: 'print(2)' }), 'n.ipynb'),
  READN: (context) => [
    ...Array.from({ length: count(context, 5) }, () => ({
      blocks: [tool('Read', { file_path: `${context.workspace}/a.txt` })],
    })),
    echo,
  ],

  BASH: (context) => once(tool('Bash', { command: context.arg ?? 'echo hi', description: 'run' })),
  BASHN: (context) => [
    ...Array.from({ length: count(context, 5) }, (_, index) => ({
      blocks: [tool('Bash', { command: `echo ${index}`, description: 'run' })],
    })),
    echo,
  ],

  E400: refuse(400, 'invalid_request_error'),
  E401: refuse(401, 'authentication_error'),
  E429: refuse(429, 'rate_limit_error', { 'retry-after': '1' }),
  E500: refuse(500, 'api_error'),
  E529: refuse(529, 'overloaded_error'),
  ESSE: [{ blocks: [text('partial')], sseError: { type: 'overloaded_error', message: 'scripted mid-stream' } }],
  ECUT: [{ blocks: [text('partial text before the cut')], chunk: 5, delay: 20, cut: true }],
};
