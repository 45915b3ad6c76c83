// `npm start`: installs what is missing, builds what is stale, then becomes `engram up` with the given
// arguments, in this very process: signals and exit code need no passing on. When everything is fresh
// it only compares hashes. Every import is Node's own until the install has been checked.

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `engram: this is Node ${process.versions.node}; Engram needs 20.19 or newer.\n  Next step: install a current Node (https://nodejs.org) and start again.`,
  );
  process.exit(1);
}

const { realpathSync } = await import('node:fs');
const { join } = await import('node:path');
const { pathToFileURL } = await import('node:url');
const { root, ScriptError } = await import('./repository.mjs');
const { install, isInstalled } = await import('./install.mjs');
const { build, staleTargets } = await import('./build.mjs');
const { watchNpm } = await import('./npm-parent.mjs');
const { withCheckoutLock } = await import('./checkout-lock.mjs');

const say = (line) => process.stderr.write(`engram: ${line}\n`);

async function prepare() {
  if (!isInstalled(root, { dev: false })) {
    say('installing packages …');
    await install(root, { dev: false });
  }
  await build(staleTargets(), say);
}

try {
  if (!isInstalled(root, { dev: false }) || staleTargets().length > 0) {
    await withCheckoutLock(prepare, () =>
      say('another start is installing or building in this checkout; waiting for it …'),
    );
  }
} catch (error) {
  say(error instanceof ScriptError ? error.message : error.stack);
  process.exit(1);
}

watchNpm(() => process.kill(process.pid, 'SIGTERM'));

const main = join(realpathSync(root), 'packages/cli/dist/main.js');
process.argv.splice(1, process.argv.length - 1, main, 'up', ...process.argv.slice(2));
await import(pathToFileURL(main).href);
