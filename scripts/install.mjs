// Decides whether node_modules holds what package-lock.json asks for, and installs it when not.
// The truth is npm's own record of the installed tree (node_modules/.package-lock.json, written last),
// so an install made by hand counts, a full one counts for the smaller one, and a broken-off one does not.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, ScriptError } from './repository.mjs';
import { runCommand } from './run-command.mjs';

/** Give up on a dead registry within seconds; a slow download that still moves is not cut. */
const FETCH_FLAGS = [
  '--fetch-retries=1',
  '--fetch-retry-mintimeout=500',
  '--fetch-retry-maxtimeout=2000',
  '--fetch-timeout=30000',
];

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

function fitsThisMachine(entry) {
  const allows = (list, value) =>
    list === undefined ||
    (list.some((item) => !item.startsWith('!')) ? list.includes(value) : !list.includes(`!${value}`));
  // Which libc this is takes long to find out; builds for one libc only are left to npm. So are optional
  // packages that fit everywhere: npm leaves out those that only a build for another machine needs.
  if (entry.os === undefined && entry.cpu === undefined) return false;
  return entry.libc === undefined && allows(entry.os, process.platform) && allows(entry.cpu, process.arch);
}

/** Names of locked packages that are not installed as locked; undefined when there is no installed tree at all. */
export function missingPackages(folder, { dev }) {
  const locked = readPackages(join(folder, 'package-lock.json'));
  if (locked === undefined)
    throw new ScriptError(
      `${join(folder, 'package-lock.json')} is missing or unreadable.`,
      'check the files out again',
    );
  const installed = readPackages(join(folder, 'node_modules/.package-lock.json'));
  if (installed === undefined) return undefined;
  return Object.entries(locked)
    .filter(([path, entry]) =>
      path.startsWith('node_modules/') || path.includes('/node_modules/') ? wanted(entry, dev) : false,
    )
    .filter(([path, entry]) => entry.link !== true && installed[path]?.version !== entry.version)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
}

function wanted(entry, dev) {
  if (!dev && (entry.dev === true || entry.devOptional === true)) return false;
  if (entry.peer === true && entry.optional === true) return false;
  return entry.optional === true || entry.devOptional === true ? fitsThisMachine(entry) : true;
}

export function isInstalled(folder, options) {
  return missingPackages(folder, options)?.length === 0;
}

/** The npm that belongs to this node when it says so, else the one on PATH. */
function npmCommand() {
  const cli = process.env.npm_execpath;
  return cli?.endsWith('npm-cli.js') ? [process.execPath, [cli]] : ['npm', []];
}

/** `npm ci` in `folder`; throws a ScriptError that says what failed and what to do. */
export async function install(folder, { dev }) {
  const [command, first] = npmCommand();
  const args = [...first, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...FETCH_FLAGS];
  args.push(dev ? '--include=dev' : '--omit=dev', '--include=optional');
  let result;
  try {
    result = await runCommand(command, args, { cwd: folder, env: npmEnvironment() });
  } catch (error) {
    throw new ScriptError(
      `npm could not be started (${error.code ?? error.message}).`,
      'install npm, which comes with Node, and put it on PATH',
    );
  }
  if (result.code !== 0) throw installError(folder, result.output);
  const missing = missingPackages(folder, { dev }) ?? ['everything'];
  if (missing.length > 0) {
    throw new ScriptError(
      `npm ended without installing ${missing.slice(0, 3).join(', ')}${missing.length > 3 ? ` and ${missing.length - 3} more` : ''}.`,
      'check the connection to the npm registry and start again',
    );
  }
}

/** npm below npm inherits settings of the outer call (prefix, workspace, omit); those are not ours. */
function npmEnvironment() {
  const env = { ...process.env };
  for (const name of Object.keys(env)) {
    if (
      /^npm_(config_(local_prefix|prefix|omit|include|workspace|workspaces|only|production|global|dry_run|ignore_scripts)|package_|lifecycle_|command$)/i.test(
        name,
      )
    ) {
      delete env[name];
    }
  }
  delete env.NODE_ENV;
  return env;
}

function installError(folder, output) {
  const lines = output
    .split('\n')
    .filter((line) => line.trim() !== '' && !/A complete log of this run|npm error (errno|code) /.test(line));
  const said = lines
    .slice(0, 6)
    .map((line) => `  ${line}`)
    .join('\n');
  const where = folder === root ? '' : ` in ${folder}`;
  if (
    /E?(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT)|ETIMEDOUT|network|fetch failed|SELF_SIGNED|CERT_/i.test(
      output,
    )
  ) {
    return new ScriptError(
      `Fetching packages failed${where}:\n${said}`,
      'check the network (npm ping; a proxy goes into HTTPS_PROXY) and start again',
    );
  }
  if (/EACCES|EPERM|EROFS/.test(output)) {
    return new ScriptError(
      `npm may not write${where}:\n${said}`,
      `make ${folder} writable for this user, or check it out again as this user`,
    );
  }
  if (/ENOSPC/.test(output))
    return new ScriptError(`The disk is full${where}:\n${said}`, 'free about 1 GB and start again');
  return new ScriptError(`npm ci failed${where}:\n${said}`, `run \`npm ci --ignore-scripts\`${where} to see it whole`);
}
