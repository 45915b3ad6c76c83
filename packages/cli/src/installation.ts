// Where the other parts of this installation are, seen from here: packages/cli/dist.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const cliMain = at('./main.js');
export const harnessMain = at('../../harness-claude/dist/main.js');
export const webRoot = at('../../web/dist');

export function readVersion(): string {
  const value: unknown = JSON.parse(readFileSync(at('../package.json'), 'utf8'));
  const version = typeof value === 'object' && value !== null && 'version' in value ? value.version : undefined;
  return typeof version === 'string' ? version : '0.0.0';
}
