#!/usr/bin/env node
// The `engram` command: reads options, loads the one command that was asked for, gives its exit code.
// What a command does is in commands/.

import { Command, CommanderError, Option } from 'commander';
import { type Choice, parseChoose } from './answer-choices.js';
import type { ApiClient } from './api-client.js';
import { CliError, explainError, toErrorCode } from './cli-error.js';
import { type Config, type GlobalOptions, readConfig } from './config.js';
import { cliMain, readVersion } from './installation.js';
import { createOutput, type Output } from './output.js';

interface Context {
  readonly config: Config;
  readonly output: Output;
}

const program = new Command('engram')
  .description('Runs coding agents as durable sessions.')
  .version(readVersion())
  .showHelpAfterError('(--help shows what there is)')
  .enablePositionalOptions(false)
  .exitOverride();

/** The options that every command takes, after its name. */
function command(spec: string, description: string): Command {
  return program
    .command(spec)
    .description(description)
    .option('--data-dir <folder>', 'where Engram keeps everything (ENGRAM_DATA_DIR, default ~/.engram)')
    .option('--port <number>', 'port to listen on (ENGRAM_PORT, default 4400)')
    .option('--host <address>', 'address to listen on (ENGRAM_HOST, default 127.0.0.1)')
    .option('--json', 'print JSON, one document a line')
    .exitOverride();
}

let output = createOutput({ json: process.argv.includes('--json'), colours: false });

/** Runs a command's work with its configuration; the number it gives is the exit code. */
async function perform(
  options: GlobalOptions & { readonly json?: boolean },
  work: (context: Context) => Promise<number>,
): Promise<void> {
  const config = readConfig(options);
  const dataDir = options.dataDir === undefined ? {} : { dataDir: config.dataDir };
  output = createOutput({ json: options.json === true, colours: config.colours, ...dataDir });
  process.exitCode = await work({ config, output });
}

async function withServer(
  options: GlobalOptions & { readonly json?: boolean },
  work: (api: ApiClient, output: Output, config: Config) => Promise<number>,
): Promise<void> {
  const { openLocalServer } = await import('./local-server.js');
  await perform(options, async ({ config, output: out }) => work(await openLocalServer(config), out, config));
}

command('up', 'start everything on this machine').action((options) =>
  perform(options, async ({ config, output: out }) => (await import('./commands/up.js')).up(config, cliMain, out)),
);

for (const name of ['serve', 'host'] as const) {
  const description =
    name === 'serve' ? 'only the server, on a shared database' : 'only run sessions, on a shared database';
  const own = command(name, description)
    .addOption(new Option('--supervised').hideHelp())
    .action(async (options) => {
      if (options.supervised === true) {
        const { supervisedHost, supervisedServe } = await import('./commands/supervised.js');
        process.exitCode = await (name === 'serve' ? supervisedServe() : supervisedHost());
        process.exit();
      }
      const standalone = await import('./commands/standalone.js');
      await perform(options, ({ config, output: out }) => standalone[name](config, out));
    });
  if (name === 'host') own.addCommand(drainCommand());
}

function drainCommand(): Command {
  return new Command('drain')
    .argument('<host>', 'its id or its name, as `engram hosts` shows them')
    .description('let a host take no more sessions, so that it can be stopped')
    .option('--undo', 'let it take sessions again')
    .option('--wait', 'until no session is awake there')
    .option('--data-dir <folder>', 'where Engram keeps everything; DATABASE_URL wins over it')
    .option('--json', 'print JSON')
    .exitOverride()
    .action((host: string, _options, self: Command) => {
      const options = self.optsWithGlobals();
      return perform(options, async ({ config, output: out }) =>
        (await import('./commands/hosts.js')).drain(config, out, host, options),
      );
    });
}

program
  .command('hosts')
  .description('machines that run sessions')
  .option('--data-dir <folder>', 'where Engram keeps everything; DATABASE_URL wins over it')
  .option('--json', 'print JSON')
  .exitOverride()
  .action((options) =>
    perform(options, async ({ config, output: out }) => (await import('./commands/hosts.js')).hosts(config, out)),
  );

command('open', 'print a one-time link and open it')
  .option('--no-browser', 'only print it')
  .action((options) =>
    withServer(options, async (api, out) => (await import('./commands/open.js')).open(api, out, options)),
  );

command('run <prompt>', 'start a session and follow it')
  .option('--workspace <folder>', 'work in this folder (default: the current one)')
  .option('--git <url>', 'work in a clone of this repository')
  .option('--ref <ref>', 'branch, tag or commit, with --git')
  .option('--empty', 'work in a new, empty folder')
  .option('--model <name>', 'model for the agent')
  .option('--demo', 'use the scripted demo model')
  .option('--title <text>', 'title of the session')
  .option('--detach', 'print its id and do not follow it')
  .action((prompt: string, options) =>
    withServer(options, async (api, out, { cwd }) =>
      (await import('./commands/run.js')).run(api, out, prompt, { ...options, cwd }),
    ),
  );

command('sessions', 'list sessions, newest activity first')
  .option('--awaiting', 'only those that wait for an answer', false)
  .option('--limit <number>', 'how many', '50')
  .action((options) =>
    withServer(options, async (api, out) => (await import('./commands/sessions.js')).sessions(api, out, options)),
  );

command('logs <session>', 'what happened in a session')
  .option('-f, --follow', 'stay and show what comes', false)
  .option('--since <idx>', 'only events after this one', parseIndex, 0)
  .action((session: string, options) =>
    withServer(options, async (api, out) => (await import('./commands/logs.js')).logs(api, out, session, options)),
  );

command('pending', 'questions that wait for an answer').action((options) =>
  withServer(options, async (api, out) => (await import('./commands/pending.js')).pending(api, out)),
);

const choices: Choice[] = [];
command('answer <session> [tool_call_id]', 'answer a waiting question')
  .option('--choose <numbers>', 'options by number, such as 1 or 1,3; once for each question, in order', (value) =>
    choices.push(parseChoose(value)),
  )
  .option('--text <words>', 'your own words instead', (value) => choices.push({ kind: 'text', text: value }))
  .action((session: string, toolCallId: string | undefined, options) =>
    withServer(options, async (api, out) =>
      (await import('./commands/answer.js')).answer(api, out, session, toolCallId, choices),
    ),
  );

command('doctor', 'check that everything is in place, and say how to mend it').action((options) =>
  perform(options, async ({ config, output: out }) => (await import('./commands/doctor.js')).doctor(config, out)),
);

command('alive', 'exit code 0 when an engram up or host of this data folder answers').action((options) =>
  perform(options, async ({ config, output: out }) => (await import('./commands/alive.js')).alive(config, out)),
);

program
  .command('token')
  .description('API tokens')
  .addCommand(
    new Command('create')
      .argument('<name>', 'whom it is for')
      .description('a token for a further owner')
      .option('--data-dir <folder>', 'where Engram keeps everything')
      .option('--json', 'print JSON')
      .exitOverride()
      .action((name: string, options) =>
        perform(options, async ({ config, output: out }) =>
          (await import('./commands/token.js')).createToken(config, out, name),
        ),
      ),
  );

const db = program.command('db').description('back up, restore and move the database');

/** The options of the `db` commands, after their names. */
function dbCommand(spec: string, description: string): Command {
  return db
    .command(spec)
    .description(description)
    .option('--data-dir <folder>', 'where Engram keeps everything; DATABASE_URL wins over it')
    .option('--json', 'print JSON')
    .exitOverride();
}

dbCommand('backup <file>', 'write everything the database holds to a new file; works while Engram runs').action(
  (file: string, options) =>
    perform(options, async ({ config, output: out }) => (await import('./commands/db.js')).backup(config, out, file)),
);
dbCommand('restore <file>', 'make an empty database what the file holds; Engram must be stopped').action(
  (file: string, options) =>
    perform(options, async ({ config, output: out }) => (await import('./commands/db.js')).restore(config, out, file)),
);
dbCommand(
  'move [url]',
  'from the data folder’s own PostgreSQL to the empty database of a server (default DATABASE_URL)',
).action((url: string | undefined, options) =>
  perform(options, async ({ config, output: out }) => (await import('./commands/db.js')).move(config, out, url)),
);

function parseIndex(value: string): number {
  if (/^\d+$/.test(value)) return Number(value);
  throw new CliError('bad_config', `--since takes an event's index, not "${value}".`);
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode;
  } else {
    output.failure(explainError(error), toErrorCode(error));
    process.exitCode = 1;
  }
}
