// A release named in releases.json, ready to run beside this tree: its files from git, its TypeScript made
// JavaScript file by file (it was checked when it was released), and the packages it locks. Kept in .cache.
// As a program: `node scripts/old-release.mjs [version]` prints its folder.

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { install } from './install.mjs';
import { cacheDir, hashFiles, root, ScriptError } from './repository.mjs';

/** Oldest first. */
export const releases = () => JSON.parse(readFileSync(join(root, 'releases.json'), 'utf8'));

/** Why a release cannot be had here; undefined when it can. */
export function missingRelease({ version, commit }) {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root, stdio: 'ignore' });
    return undefined;
  } catch {
    return existsSync(join(root, '.git'))
      ? `Release ${version} is commit ${commit.slice(0, 12)}, which this clone does not have. Next step: git fetch --unshallow`
      : `Release ${version} comes out of git, and this is no clone. Next step: clone the repository with its history`;
  }
}

/** Gives the folder of a built release. */
export async function prepareRelease(release) {
  const why = missingRelease(release);
  if (why !== undefined) throw new ScriptError(why);
  // It leans on what is installed here, so it is made anew when that changes.
  const name = `${release.version}-${release.commit.slice(0, 12)}-${hashFiles(['package-lock.json']).slice(0, 8)}`;
  const folder = join(cacheDir, 'releases', name);
  if (existsSync(folder)) return folder;
  const making = `${folder}.${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  try {
    const paths = ['package.json', 'package-lock.json', '.npmrc', 'packages', 'scripts', 'agents'];
    const tar = execFileSync('git', ['archive', release.commit, ...paths], { cwd: root, maxBuffer: 256 * 1024 * 1024 });
    execFileSync('tar', ['x'], { cwd: making, input: tar });
    await givePackages(making);
    await compile(making);
    renameSync(making, folder);
  } catch (error) {
    rmSync(making, { recursive: true, force: true });
    // Another process was quicker.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** Ours, when they are the versions it locks; else its own. */
async function givePackages(folder) {
  const locked = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8')).packages;
  const others = Object.entries(locked).filter(
    ([path, entry]) =>
      path.includes('node_modules/') &&
      entry.link !== true &&
      entry.dev !== true &&
      !isOptional(entry) &&
      installed[path]?.version !== entry.version,
  );
  if (others.length > 0) {
    await install(folder, { dev: false });
    return;
  }
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '@engram'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (!name.startsWith('.') && name !== '@engram') symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  for (const name of readdirSync(join(folder, 'packages'))) {
    symlinkSync(join('../../packages', name), join(modules, '@engram', name));
  }
}

const isOptional = (entry) => entry.optional === true || entry.devOptional === true || entry.peer === true;

async function compile(folder) {
  const { transformFileSync } = await import('@swc/core');
  for (const name of readdirSync(join(folder, 'packages'))) {
    if (name === 'web' || name === 'testkit') continue;
    const [src, dist] = ['src', 'dist'].map((part) => join(folder, 'packages', name, part));
    for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
      const to = join(dist, file);
      if (!file.endsWith('.ts')) continue;
      mkdirSync(join(to, '..'), { recursive: true });
      const { code } = transformFileSync(join(src, file), {
        swcrc: false,
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022', transform: { verbatimModuleSyntax: true } },
        module: { type: 'es6' },
      });
      writeFileSync(to.replace(/\.ts$/, '.js'), code);
    }
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    const all = releases();
    const release = process.argv[2] === undefined ? all.at(-1) : all.find((each) => each.version === process.argv[2]);
    if (release === undefined) throw new ScriptError(`There is no release ${process.argv[2]}.`, 'see releases.json');
    process.stdout.write(`${await prepareRelease(release)}\n`);
  } catch (error) {
    process.stderr.write(`engram: ${error instanceof ScriptError ? error.message : error.stack}\n`);
    process.exitCode = 1;
  }
}
