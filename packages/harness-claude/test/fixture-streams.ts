// Recorded streams of real CLIs, for the unit tests of this package.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClaudeMessage } from '../src/claude-message.js';
import { createClaudeStream } from '../src/claude-stream.js';

const root = fileURLToPath(new URL('../../../tests/fixtures/', import.meta.url));

/** Versions of which every case is recorded: `npm run record -- --claude VERSION` adds one. */
export const VERSIONS: readonly string[] = readdirSync(root)
  .filter((folder) => existsSync(join(root, folder, 'file-edit.jsonl')))
  .map((folder) => folder.slice('claude-'.length));

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
