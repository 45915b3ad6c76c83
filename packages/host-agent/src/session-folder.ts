// The files of one session below the data folder, and how they go away. The layout is shared with
// the harness by the assignment alone: nobody else derives these paths.

import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HostAgentError } from './host-agent-error.js';
import { removeTree } from './remove-tree.js';
import { isErrno } from './socket-path.js';

export interface SessionFolder {
  readonly root: string;
  /** HOME of the agent; CLAUDE_CONFIG_DIR is `.claude` in it. */
  readonly home: string;
  /** Used for `git` and `empty` workspaces. */
  readonly workspace: string;
  /** The harness's own durable files. */
  readonly state: string;
  /** TMPDIR of the agent. */
  readonly tmp: string;
  /** The workspace's real path, resolved once. */
  readonly workspaceRecord: string;
}

const SESSION_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function sessionsDir(dataDir: string): string {
  return join(dataDir, 'sessions');
}

/** Throws for anything but a UUID: the id becomes part of a path. */
export function sessionFolder(dataDir: string, sessionId: string): SessionFolder {
  if (!SESSION_ID.test(sessionId)) throw new HostAgentError('invalid_session_id', 'the session id is not a UUID');
  const root = join(sessionsDir(dataDir), sessionId);
  return {
    root,
    home: join(root, 'home'),
    workspace: join(root, 'workspace'),
    state: join(root, 'state'),
    tmp: join(root, 'tmp'),
    workspaceRecord: join(root, 'workspace.json'),
  };
}

export async function makeSessionFolder(folder: SessionFolder): Promise<void> {
  await mkdir(folder.root, { recursive: true, mode: 0o700 });
  await Promise.all(
    [join(folder.home, '.claude'), folder.state, folder.tmp].map((dir) => mkdir(dir, { recursive: true, mode: 0o700 })),
  );
}

export async function removeSessionFolder(folder: SessionFolder): Promise<void> {
  await removeTree(folder.root);
}

/** What a host that died was just making or about to remove, beside the sessions' folders. */
export async function removeLeftFolders(dataDir: string): Promise<void> {
  const names = await readdir(sessionsDir(dataDir)).catch((): string[] => []);
  for (const name of names) if (/\.(part|old)$/.test(name)) await removeTree(join(sessionsDir(dataDir), name));
}

export async function readWorkspaceRecord(folder: SessionFolder): Promise<string | undefined> {
  const text = await readFile(folder.workspaceRecord, 'utf8').catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const record: unknown = JSON.parse(text);
  return typeof record === 'object' && record !== null && 'path' in record && typeof record.path === 'string'
    ? record.path
    : undefined;
}

export async function writeWorkspaceRecord(folder: SessionFolder, path: string): Promise<void> {
  await writeFileAtomically(folder.workspaceRecord, `${JSON.stringify({ path })}\n`);
}

export async function writeFileAtomically(path: string, content: string | Uint8Array): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  await writeFile(part, content, { mode: 0o600 });
  await rename(part, path);
}
