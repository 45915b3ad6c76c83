// Decides how PostgreSQL is started, because it refuses to run as root. A user starts it plainly.
// Root starts it in a user namespace of its own, where it sees itself as an ordinary user while
// its files stay root's; where namespaces are refused, as an existing account, which must be able
// to enter every folder on the way to the binaries and the cluster.

import { execFile } from 'node:child_process';
import { access, chown, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CoordinatorError } from '../coordinator-error.js';
import type { PostgresBinaries } from './postgres-binaries.js';

const run = promisify(execFile);

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

export type Launch =
  | { readonly kind: 'plain' }
  | { readonly kind: 'namespace'; readonly unshare: string }
  | { readonly kind: 'account'; readonly account: Account };

const NAMESPACE_ARGS = ['--user', '--map-user=65534', '--map-group=65534', '--'] as const;

/** `refuseNamespace` is for tests of the other way. */
export async function chooseLaunch(
  binaries: PostgresBinaries,
  clusterDir: string,
  refuseNamespace = false,
): Promise<Launch> {
  if (process.getuid?.() !== 0) return { kind: 'plain' };
  const unshare = refuseNamespace ? undefined : await firstPresent(['/usr/bin/unshare', '/bin/unshare']);
  if (unshare !== undefined && (await canUseNamespace(unshare, binaries))) return { kind: 'namespace', unshare };
  const account = await findAccount();
  if (account === undefined) {
    throw new CoordinatorError(
      'postgres_needs_account',
      'PostgreSQL does not run as root, user namespaces are refused here, and there is no account "postgres" or ' +
        '"nobody" to run it as. Start Engram as an ordinary user, or set DATABASE_URL to a PostgreSQL server.',
    );
  }
  for (const target of [dirname(binaries.postgres), dirname(clusterDir)]) {
    const closed = await firstClosedFolder(target, account);
    if (closed === undefined) continue;
    throw new CoordinatorError(
      'postgres_needs_account',
      `PostgreSQL does not run as root and user namespaces are refused here; the account "${account.name}" cannot ` +
        `enter ${closed}. Let it in (chmod o+x ${closed}), start Engram as an ordinary user, or set DATABASE_URL.`,
    );
  }
  return { kind: 'account', account };
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly ids: { readonly uid?: number; readonly gid?: number };
}

export function toCommand(launch: Launch, file: string, args: readonly string[]): Command {
  switch (launch.kind) {
    case 'plain':
      return { file, args, ids: {} };
    case 'namespace':
      return { file: launch.unshare, args: [...NAMESPACE_ARGS, file, ...args], ids: {} };
    case 'account':
      return { file, args, ids: { uid: launch.account.uid, gid: launch.account.gid } };
  }
}

/** Gives a folder and what is in it to the account that PostgreSQL runs as; nothing to do otherwise. */
export async function giveTo(launch: Launch, path: string): Promise<void> {
  if (launch.kind !== 'account') return;
  const { uid, gid } = launch.account;
  await chown(path, uid, gid);
  if (!(await stat(path)).isDirectory()) return;
  for (const entry of await readdir(path)) await giveTo(launch, join(path, entry));
}

async function canUseNamespace(unshare: string, binaries: PostgresBinaries): Promise<boolean> {
  try {
    await run(unshare, [...NAMESPACE_ARGS, binaries.postgres, '--version'], { env: binaries.env, timeout: 5_000 });
    return true;
  } catch {
    return false;
  }
}

async function firstPresent(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    try {
      await access(path);
      return path;
    } catch {
      // the next one
    }
  }
  return undefined;
}

async function findAccount(): Promise<Account | undefined> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const entry = lines.find((fields) => fields[0] === name);
    if (entry !== undefined && Number(entry[2]) > 0) return { name, uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  return undefined;
}

/** The outermost folder on the way to `folder` that the account cannot enter. */
export async function firstClosedFolder(folder: string, account: Account): Promise<string | undefined> {
  const chain: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    chain.unshift(at);
    if (dirname(at) === at) break;
  }
  for (const path of chain) {
    const { mode, uid, gid } = await stat(path);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return path;
  }
  return undefined;
}
