// How a command speaks: results on stdout (one JSON document a line with --json, else lines for a
// person), notes and errors on stderr.

import { safeText } from './terminal-text.js';

export interface Output {
  readonly json: boolean;
  readonly colours: boolean;
  /** What a command that we suggest must end with to reach this same server; empty by default. */
  readonly commandEnd: string;
  /** `value` is what --json prints; `lines` is the same for a person. */
  result(value: unknown, lines: readonly string[]): void;
  note(text: string): void;
  failure(text: string, code: string): void;
}

export function createOutput(options: {
  readonly json: boolean;
  readonly colours: boolean;
  readonly dataDir?: string;
}): Output {
  // A reader that went away (`engram logs | head`) ends the command quietly.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  return {
    json: options.json,
    colours: options.colours && process.stdout.isTTY === true,
    commandEnd: options.dataDir === undefined ? '' : ` --data-dir ${quoteForShell(options.dataDir)}`,
    result(value, lines) {
      if (options.json) process.stdout.write(`${JSON.stringify(value)}\n`);
      else for (const line of lines) process.stdout.write(`${line}\n`);
    },
    note: (text) => void process.stderr.write(`engram: ${safeText(text)}\n`),
    failure(text, code) {
      if (options.json) process.stderr.write(`${JSON.stringify({ error: { code, message: text } })}\n`);
      else process.stderr.write(`engram: ${safeText(text)}\n`);
    },
  };
}

export function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
