// Where the pinned versions of the agent's CLI are. They are fetched by scripts/fetch-agents.mjs
// (`npm test` does it first); here a missing one is an error that says so.

import { accessSync, constants, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout: packages/testkit/dist (or src) is three folders below it. */
export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

/** Pinned versions, oldest first. */
export function claudeVersions(): readonly string[] {
  const order = new Intl.Collator('en', { numeric: true });
  return readdirSync(join(repositoryRoot, 'agents'))
    .filter((name) => /^claude-\d+\.\d+\.\d+$/.test(name))
    .map((name) => name.slice('claude-'.length))
    .sort(order.compare);
}

/**
 * What a test runs on that need not see every version: the newest, or all in the matrix
 * (`npm test -- --matrix`). What differs between versions is tested on all of them always.
 */
export function versionsToTest(): readonly string[] {
  const all = claudeVersions();
  return process.env.ENGRAM_TEST_MATRIX === '1' ? all : all.slice(-1);
}

export function claudeBinary(version: string): string {
  const scope = join(repositoryRoot, 'agents', `claude-${version}`, 'node_modules/@anthropic-ai');
  const names = [
    `claude-code-${process.platform}-${process.arch}`,
    `claude-code-${process.platform}-${process.arch}-musl`,
  ];
  const found = names.map((name) => join(scope, name, 'claude')).find(isExecutable);
  if (found !== undefined) return found;
  throw new Error(`Claude Code ${version} is not here: run \`node scripts/fetch-agents.mjs ${version}\``);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
