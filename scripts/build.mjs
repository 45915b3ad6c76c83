// Builds what is stale: the packages' JavaScript with the TypeScript compiler, the web app with vite.
// Stale means: the hash of sources and lock file differs from the one stored at the last good build.
// As a program (`npm run build`) it builds both; --server or --web limits it.

import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cacheDir, hashFiles, root, ScriptError } from './repository.mjs';
import { runCommand } from './run-command.mjs';

const serverPackages = [
  'harness-proto',
  'harness-claude',
  'coordinator',
  'host-agent',
  'orchestrator',
  'demo-model',
  'cli',
];

const targets = {
  server: {
    says: 'building the server',
    inputs: [
      'tsconfig.base.json',
      'package-lock.json',
      ...serverPackages.flatMap((name) => [
        `packages/${name}/src`,
        `packages/${name}/tsconfig.json`,
        `packages/${name}/package.json`,
      ]),
    ],
    outputs: serverPackages.map((name) => `packages/${name}/dist/${name === 'cli' ? 'main' : 'index'}.js`),
    build: () => [
      join(root, 'node_modules/typescript/bin/tsc'),
      ['-b', ...serverPackages.map((name) => `packages/${name}`)],
      root,
    ],
  },
  web: {
    says: 'building the web app',
    inputs: [
      'package-lock.json',
      'tsconfig.base.json',
      'packages/cli/package.json',
      'packages/web',
      'packages/harness-proto/src',
    ],
    outputs: ['packages/web/dist/index.html'],
    build: () => [
      join(root, 'node_modules/vite/bin/vite.js'),
      ['build', '--logLevel', 'warn'],
      join(root, 'packages/web'),
    ],
  },
};

const stampPath = (name) => join(cacheDir, 'build', `${name}.sha256`);

function readStamp(name) {
  try {
    return readFileSync(stampPath(name), 'utf8');
  } catch {
    return '';
  }
}

function writeStamp(name, hash) {
  mkdirSync(dirname(stampPath(name)), { recursive: true });
  writeFileSync(`${stampPath(name)}.${process.pid}`, hash);
  renameSync(`${stampPath(name)}.${process.pid}`, stampPath(name));
}

/** The targets that must be built, of those named. */
export function staleTargets(names = ['server', 'web']) {
  return names.filter((name) => {
    const { inputs, outputs } = targets[name];
    return !outputs.every((path) => existsSync(join(root, path))) || readStamp(name) !== hashFiles(inputs);
  });
}

function checkWritable() {
  try {
    mkdirSync(cacheDir, { recursive: true });
    accessSync(cacheDir, constants.W_OK);
  } catch (error) {
    throw new ScriptError(
      `The build is stale and ${root} cannot be written by this user (${error.code}).`,
      'build once as its owner (npm run build), or check it out again as this user',
    );
  }
}

export async function build(names, say = () => {}) {
  if (names.length > 0) checkWritable();
  for (const name of names) {
    const target = targets[name];
    say(`${target.says} …`);
    const hash = hashFiles(target.inputs);
    const [program, args, cwd] = target.build();
    const env = { ...process.env, NODE_ENV: 'production' };
    let result = await runCommand(process.execPath, [program, ...args], { cwd, env });
    // What an interrupted or concurrent build left behind can mislead the compiler: once more, from nothing.
    if (result.code !== 0 && name === 'server') {
      result = await runCommand(process.execPath, [program, ...args, '--force'], { cwd, env });
    }
    if (result.code !== 0) {
      throw new ScriptError(
        `${target.says} failed:\n${result.output.trim()}`,
        'check out a clean copy, or mend the lines named above',
      );
    }
    if (!target.outputs.every((path) => existsSync(join(root, path)))) {
      throw new ScriptError(
        `${target.says} left no ${target.outputs.at(-1)}.`,
        `remove packages/*/dist and start again`,
      );
    }
    writeStamp(name, hash);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const names = ['server', 'web'].filter((name) => process.argv.length === 2 || process.argv.includes(`--${name}`));
  try {
    await build(staleTargets(names), (line) => process.stderr.write(`engram: ${line}\n`));
  } catch (error) {
    process.stderr.write(`engram: ${error instanceof ScriptError ? error.message : error.stack}\n`);
    process.exitCode = 1;
  }
}
