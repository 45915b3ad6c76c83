// Recorded streams of real CLIs, for the unit tests of this package.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClaudeMessage } from '../src/claude-message.js';
import { createClaudeStream } from '../src/claude-stream.js';

const root = fileURLToPath(new URL('../../../tests/fixtures/', import.meta.url));

export const VERSIONS = ['2.1.183', '2.1.332'] as const;

export function fixtureBytes(version: string, name: string): Buffer {
  return readFileSync(join(root, `claude-${version}`, `${name}.jsonl`));
}

export function fixtureMessages(version: string, name: string): ClaudeMessage[] {
  const stream = createClaudeStream();
  return [...stream.push(fixtureBytes(version, name)), ...stream.end()];
}

/** Every recorded stream: [version, case]. */
export function allStreams(): [string, string][] {
  return listed((name) => !name.includes('transcript'));
}

export function allTranscripts(): [string, string][] {
  return listed((name) => name.endsWith('.transcript'));
}

function listed(wanted: (name: string) => boolean): [string, string][] {
  return readdirSync(root)
    .filter((folder) => folder.startsWith('claude-'))
    .flatMap((folder) =>
      readdirSync(join(root, folder))
        .filter((file) => file.endsWith('.jsonl'))
        .map((file) => file.slice(0, -'.jsonl'.length))
        .filter(wanted)
        .map((name): [string, string] => [folder.slice('claude-'.length), name]),
    );
}
