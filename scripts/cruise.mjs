// Checks the arrows between packages with dependency-cruiser, whose swc parser cannot read TSX unless it
// is told so: that option is set here before it loads. `node scripts/cruise.mjs [folder]` prints
// {cruised, violations} with --json, else what a person needs; exit code 1 when a rule is broken.

import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './repository.mjs';

const swc = createRequire(import.meta.url)('@swc/core');
const { parseFileSync } = swc;
swc.parseFileSync = (path, options) => parseFileSync(path, { ...options, tsx: path.endsWith('.tsx') });

const folder = resolve(process.argv.slice(2).find((word) => !word.startsWith('--')) ?? root);
process.chdir(folder);
const { default: rules } = await import(pathToFileURL(join(folder, '.dependency-cruiser.mjs')).href);
const { cruise } = await import('dependency-cruiser');
const sources = readdirSync('packages')
  .map((name) => `packages/${name}/src`)
  .filter((path) => existsSync(path));

const { options, ...ruleSet } = rules;
const resolveOptions = options.enhancedResolveOptions;
const { output } = await cruise(sources, { ...options, validate: true, ruleSet }, resolveOptions);
const { totalCruised: cruised, violations } = output.summary;
const found = violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to }));
if (process.argv.includes('--json')) {
  process.stdout.write(`${JSON.stringify({ cruised, violations: found })}\n`);
} else {
  for (const { rule, from, to } of found) process.stdout.write(`${rule}: ${from} → ${to}\n`);
  process.stdout.write(`${found.length} violations in ${cruised} modules\n`);
}
process.exitCode = found.length > 0 || cruised === 0 ? 1 : 0;
