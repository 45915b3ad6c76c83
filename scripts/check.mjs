// `npm run check`: the static checks, each counted as one by `npm test`. All of them run, also when an
// earlier one fails; a failing one shows all it said.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './repository.mjs';
import { runCommand } from './run-command.mjs';

const bin = (path) => [process.execPath, join(root, 'node_modules', path)];

/** tsc comes first: what it builds is what the others resolve package names to. */
export const checks = {
  tsc: () => [...bin('typescript/bin/tsc'), '-b'],
  biome: () => [
    ...bin('@biomejs/biome/bin/biome'),
    'ci',
    '--colors=off',
    '--error-on-warnings',
    '--no-errors-on-unmatched',
    '.',
  ],
  oxlint: () => [...bin('oxlint/bin/oxlint'), '--type-aware', '--deny-warnings', 'packages', 'tests', 'scripts'],
  'dependency-cruiser': () => [process.execPath, join(root, 'scripts/cruise.mjs')],
  knip: () => [...bin('knip/bin/knip.js'), '--no-progress'],
};

/** Runs them one after another (the machine may be small) and gives how many passed and failed. */
export async function runChecks(say = (line) => process.stdout.write(`${line}\n`)) {
  const counts = { passed: 0, failed: 0 };
  for (const [name, command] of Object.entries(checks)) {
    const started = Date.now();
    const [program, ...args] = command();
    const { code, output } = await runCommand(program, args);
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    if (code === 0) {
      counts.passed += 1;
      say(`ok    ${name} (${seconds} s)`);
    } else {
      counts.failed += 1;
      say(`${output.trimEnd()}\nFAIL  ${name} (${seconds} s)`);
    }
  }
  return counts;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { failed } = await runChecks();
  process.exitCode = failed > 0 ? 1 : 0;
}
