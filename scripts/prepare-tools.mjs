// Brings a checkout to where everything in it can run: all packages, both builds and the agents' CLIs.
// What is there already costs a look. As a program it then becomes the given script, in this very process:
// `node scripts/prepare-tools.mjs soak/run.mjs --rounds 12`. With --browser before the script it finds one too.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, staleTargets } from './build.mjs';
import { withCheckoutLock } from './checkout-lock.mjs';
import { ensureBrowser } from './ensure-browser.mjs';
import { fetchAgents } from './fetch-agents.mjs';
import { install, isInstalled } from './install.mjs';
import { root, ScriptError } from './repository.mjs';
import { runCommand } from './run-command.mjs';

export async function installAndBuild(say) {
  await withCheckoutLock(
    async () => {
      if (!isInstalled(root, { dev: true })) {
        say('installing packages …');
        await install(root, { dev: true });
      }
      await build(staleTargets(), say);
    },
    () => say('another run is installing or building in this checkout; waiting for it …'),
  );
}

/** The packages that no start needs, test kit included; the tests and tools import them by name. */
export async function buildEveryPackage() {
  const { checks } = await import('./check.mjs');
  const [program, ...args] = checks.tsc();
  const { code, output } = await runCommand(program, args);
  if (code !== 0) throw new ScriptError(output.trimEnd());
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const given = process.argv.slice(2);
  const needsBrowser = given[0] === '--browser';
  const [script, ...args] = needsBrowser ? given.slice(1) : given;
  const say = (line) => process.stderr.write(`engram: ${line}\n`);
  try {
    if (script === undefined) throw new ScriptError('which script?', 'node scripts/prepare-tools.mjs SCRIPT [ARGS]');
    await installAndBuild(say);
    await buildEveryPackage();
    await fetchAgents(undefined, say);
    if (needsBrowser) await ensureBrowser(say);
    const main = join(root, script);
    process.argv.splice(1, process.argv.length - 1, main, ...args);
    await import(pathToFileURL(main).href);
  } catch (error) {
    say(error instanceof ScriptError ? error.message : error.stack);
    process.exit(1);
  }
}
