// Where unix sockets of a data folder live: a short, hashed folder below the temp folder that only
// this user may enter, because the kernel takes no socket path longer than 107 bytes.
//
// The folder's name can be guessed, so before use it must be a real directory, ours and 0700.

import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, realpath, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { HostAgentError } from './host-agent-error.js';

/** `sun_path` holds 108 bytes on Linux and 104 on the BSDs and macOS, the closing NUL included. */
export const SOCKET_PATH_MAX_BYTES = process.platform === 'linux' ? 107 : 103;

/** The run folder of a data folder; made when missing. */
export async function openRunDir(dataDir: string, below: string = tmpdir()): Promise<string> {
  const digest = createHash('sha256')
    .update(await realpath(dataDir))
    .digest('hex');
  const runDir = join(below, `engram-${userInfo().uid}-${digest.slice(0, 10)}`);
  await openPrivateDir(runDir);
  return runDir;
}

/** Makes the folder if needed and refuses one that is not a directory of ours with mode 0700. */
export async function openPrivateDir(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (!isErrno(error, 'EEXIST'))
      throw new HostAgentError('run_dir_unusable', `cannot make ${path}`, { cause: error });
  });
  const found = await lstat(path);
  if (!found.isDirectory()) throw new HostAgentError('run_dir_unusable', `${path} is not a directory`);
  if (found.uid !== userInfo().uid) {
    throw new HostAgentError('run_dir_unusable', `${path} belongs to another user (uid ${found.uid}); remove it first`);
  }
  if ((found.mode & 0o077) !== 0) await chmod(path, 0o700);
}

/** Throws when the kernel would refuse the path; names the path, its length and the limit. */
export function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes > SOCKET_PATH_MAX_BYTES) {
    throw new HostAgentError(
      'socket_path_too_long',
      `the socket path ${path} has ${bytes} bytes, the limit is ${SOCKET_PATH_MAX_BYTES}: use a shorter temp folder (TMPDIR)`,
    );
  }
}

export interface SessionSockets {
  readonly dir: string;
  readonly attach: string;
  readonly hook: string;
}

/** The session's own short folder, with whatever a crash left in it removed. */
export async function openSessionSockets(runDir: string, sessionId: string): Promise<SessionSockets> {
  const dir = join(runDir, createHash('sha256').update(sessionId).digest('hex').slice(0, 10));
  const sockets = { dir, attach: join(dir, 'attach'), hook: join(dir, 'hook') };
  for (const path of [sockets.attach, sockets.hook]) checkSocketPath(path);
  await rm(dir, { recursive: true, force: true });
  await openPrivateDir(dir);
  return sockets;
}

export async function removeSessionSockets(sockets: SessionSockets): Promise<void> {
  await rm(sockets.dir, { recursive: true, force: true });
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
