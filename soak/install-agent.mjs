// Where a version of Claude Code is: pinned in agents/, or fetched into .cache/agents/<version> without
// running its install script. Versions before the native builds are a script for node.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { claudeBinary, claudeVersions, repositoryRoot } from '@engram/testkit';

/** The path of its program. */
export function installAgent(version, say = () => {}) {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`"${version}" is no version`);
  if (claudeVersions().includes(version)) return claudeBinary(version);
  const folder = join(repositoryRoot, '.cache/agents', version);
  const found = findIn(folder);
  if (found !== undefined) return found;
  say(`fetching Claude Code ${version} …`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: `engram-compat-${version}`, private: true }));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', '--loglevel=error'];
  execFileSync('npm', ['install', ...flags, `@anthropic-ai/claude-code@${version}`], { cwd: folder, stdio: 'inherit' });
  const program = findIn(folder);
  if (program === undefined)
    throw new Error(`Claude Code ${version} has no program for ${process.platform} ${process.arch}`);
  return program;
}

function findIn(folder) {
  const scope = join(folder, 'node_modules/@anthropic-ai');
  const native = `claude-code-${process.platform}-${process.arch}`;
  const places = [
    join(scope, native, 'claude'),
    join(scope, `${native}-musl`, 'claude'),
    join(scope, 'claude-code/cli.js'),
  ];
  return places.find((path) => existsSync(path));
}
