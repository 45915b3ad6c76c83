// `engram serve` and `engram host` by themselves, as on machines that share a database; of this tree or of
// another checkout.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { PostgresConnection } from '@engram/coordinator';
import { repositoryRoot } from './claude-binary.js';
import { cleanEnvironment } from './clean-environment.js';

export interface PartOptions {
  readonly part: 'serve' | 'host';
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A checkout that is built; this one by default. */
  readonly root?: string;
}

export interface Part {
  readonly pid: number;
  /** The document it printed when it was ready. Rejects with its words when it ends before. */
  readonly ready: Promise<Readonly<Record<string, unknown>>>;
  readonly exited: Promise<{ readonly code: number | undefined; readonly signal: string | undefined }>;
  stderr(): string;
  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): void;
}

export function spawnPart({
  part,
  databaseUrl,
  dataDir,
  args = [],
  env = {},
  root = repositoryRoot,
}: PartOptions): Part {
  const main = join(root, 'packages/cli/dist/main.js');
  const child = spawn(process.execPath, [main, part, '--json', '--data-dir', dataDir, ...args], {
    env: cleanEnvironment({ DATABASE_URL: databaseUrl, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
  });
  const exited = new Promise<{ code: number | undefined; signal: string | undefined }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
  });
  const ready = new Promise<Record<string, unknown>>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
      const end = out.indexOf('\n');
      if (end >= 0) resolve(JSON.parse(out.slice(0, end)));
    });
    void exited.then(() => reject(new Error(`engram ${part} ended: ${err.trim()}`)));
  });
  ready.catch(() => undefined);
  return { pid: child.pid ?? 0, ready, exited, stderr: () => err, kill: (signal) => void child.kill(signal) };
}

/** A connection as DATABASE_URL; over its unix socket unless a loopback port is named. */
export function toDatabaseUrl({ host, user, password, database }: PostgresConnection, port?: number): string {
  const who = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  return port === undefined
    ? `postgres://${who}@/${database}?host=${encodeURIComponent(host)}`
    : `postgres://${who}@127.0.0.1:${port}/${database}`;
}
