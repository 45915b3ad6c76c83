// Fetches the pinned versions of the agent's CLI: one npm project with its own lock file for each, in
// agents/claude-<version>. A version that is already whole costs a stat. The tests use all of them, the
// start only the newest, and only when neither ENGRAM_CLAUDE_BIN nor PATH gives a claude.
// As a program: `node scripts/fetch-agents.mjs [version…]` (default: all); prints one path a line.

import { accessSync, constants, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withCheckoutLock } from './checkout-lock.mjs';
import { install, isInstalled } from './install.mjs';
import { root, ScriptError } from './repository.mjs';

/** Pinned versions, oldest first. */
export function pinnedVersions() {
  return readdirSync(join(root, 'agents'))
    .filter((name) => /^claude-\d+\.\d+\.\d+$/.test(name))
    .map((name) => name.slice('claude-'.length))
    .sort((a, b) => {
      const [x, y] = [a, b].map((version) => version.split('.').map(Number));
      return x[0] - y[0] || x[1] - y[1] || x[2] - y[2];
    });
}

function platformPackage() {
  const musl = process.platform === 'linux' && isMusl() ? '-musl' : '';
  return `claude-code-${process.platform}-${process.arch}${musl}`;
}

function isMusl() {
  return readdirSync('/lib', { encoding: 'utf8' }).some((name) => name.startsWith('ld-musl-'));
}

/** Where the version's own program is, whether it has been fetched or not. */
export function claudeBinary(version) {
  const name = process.platform === 'win32' ? 'claude.exe' : 'claude';
  return join(root, 'agents', `claude-${version}`, 'node_modules/@anthropic-ai', platformPackage(), name);
}

export function isFetched(version) {
  try {
    accessSync(claudeBinary(version), constants.X_OK);
    return isInstalled(join(root, 'agents', `claude-${version}`), { dev: false });
  } catch {
    return false;
  }
}

/** Fetches what is missing of `versions` and gives the path of each program, in the same order. */
export async function fetchAgents(versions = pinnedVersions(), say = () => {}) {
  const known = pinnedVersions();
  for (const version of versions) {
    if (!known.includes(version))
      throw new ScriptError(`Claude Code ${version} is not pinned here.`, `choose one of ${known.join(', ')}`);
  }
  if (!versions.every(isFetched)) {
    await withCheckoutLock(async () => {
      for (const version of versions.filter((each) => !isFetched(each))) {
        say(`fetching Claude Code ${version} …`);
        await install(join(root, 'agents', `claude-${version}`), { dev: false });
        if (!isFetched(version)) {
          throw new ScriptError(
            `Claude Code ${version} has no build for ${process.platform} ${process.arch}.`,
            'install a claude yourself and name it in ENGRAM_CLAUDE_BIN',
          );
        }
      }
    });
  }
  return versions.map(claudeBinary);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const asked = process.argv
    .slice(2)
    .map((version) => (version === 'newest' ? (pinnedVersions().at(-1) ?? '') : version));
  try {
    const paths = await fetchAgents(asked.length > 0 ? asked : undefined, (line) =>
      process.stderr.write(`engram: ${line}\n`),
    );
    process.stdout.write(`${paths.join('\n')}\n`);
  } catch (error) {
    process.stderr.write(`engram: ${error instanceof ScriptError ? error.message : error.stack}\n`);
    process.exitCode = 1;
  }
}
