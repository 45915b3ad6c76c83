// Which version a claude binary is, asked as seldom as possible: a run of `--version` costs a start
// of the whole program. The answer is kept beside the session, keyed by the file's identity.

import { execFile } from 'node:child_process';
import { readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { asRecord, asString, parseJson } from './json-guards.js';

const ASK_TIMEOUT_MS = 15_000;

/** At once when it is on record, else once the program has said it. */
export function claudeVersion(
  bin: string,
  env: Readonly<Record<string, string>>,
  stateDir: string,
): string | Promise<string> {
  const keptPath = join(stateDir, 'agent-version.json');
  const key = identityOf(bin);
  const kept = asRecord(readJson(keptPath));
  const keptVersion = asString(kept?.version);
  if (key !== undefined && kept?.key === key && keptVersion !== undefined) return keptVersion;
  const keep = (version: string): string => {
    if (key !== undefined && version !== '') writeFileSync(keptPath, JSON.stringify({ key, version }), { mode: 0o600 });
    return version;
  };
  const packaged = packagedVersion(bin);
  return packaged === undefined ? askVersion(bin, env).then(keep) : keep(packaged);
}

function identityOf(bin: string): string | undefined {
  try {
    const real = realpathSync(bin);
    const { size, mtimeMs } = statSync(real);
    return `${real}:${size}:${mtimeMs}`;
  } catch {
    // Not there: the spawn will say so.
    return undefined;
  }
}

/** Installed from npm: the package file beside the binary says it. */
function packagedVersion(bin: string): string | undefined {
  let real: string;
  try {
    real = realpathSync(bin);
  } catch {
    return undefined;
  }
  const manifest = asRecord(readJson(join(dirname(real), 'package.json')));
  const name = asString(manifest?.name);
  return name?.startsWith('@anthropic-ai/claude-code') ? asString(manifest?.version) : undefined;
}

function readJson(path: string): unknown {
  try {
    return parseJson(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function askVersion(bin: string, env: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve) => {
    execFile(bin, ['--version'], { env, timeout: ASK_TIMEOUT_MS }, (error, stdout) => {
      // '' means unknown: the way that works on every version is taken then.
      resolve(error ? '' : (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? ''));
    });
  });
}
