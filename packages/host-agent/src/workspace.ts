// Makes the folder an agent works in, by the three kinds of workspace. A path is resolved once and
// remembered: the agent's transcript is found by its cwd, so a link that points elsewhere later
// must not move a session. Git is told nothing that could make it run or read something local.

import { mkdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import type { Workspace } from '@engram/coordinator';
import { assertNever } from '@engram/harness-proto';
import type { ExecOptions, SandboxExit, SandboxRefusal } from './sandbox.js';
import { readWorkspaceRecord, type SessionFolder, writeWorkspaceRecord } from './session-folder.js';

export interface WorkspaceRules {
  readonly dataDir: string;
  /** Folders below which a `path` workspace may lie; none when empty. */
  readonly roots: readonly string[];
  readonly cloneTimeoutMs: number;
  /** For git alone, never seen by the agent: credentials, proxies, certificates. */
  readonly gitEnvironment: Readonly<Record<string, string>>;
}

export type WorkspaceResult =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly code: SandboxRefusal; readonly message: string };

type Exec = (argv: readonly string[], options: ExecOptions) => Promise<SandboxExit>;

export async function prepareWorkspace(
  workspace: Workspace,
  folder: SessionFolder,
  rules: WorkspaceRules,
  exec: Exec,
  signal: AbortSignal,
): Promise<WorkspaceResult> {
  const known = await readWorkspaceRecord(folder);
  if (known !== undefined) {
    if (await isDirectory(known)) return { ok: true, path: known };
    if (workspace.kind === 'path') {
      return refuse('workspace_missing', `The workspace ${known} is not there any more. Put it back and try again.`);
    }
  }
  const made = await makeWorkspace(workspace, folder, rules, exec, signal);
  if (made.ok) await writeWorkspaceRecord(folder, made.path);
  return made;
}

async function makeWorkspace(
  workspace: Workspace,
  folder: SessionFolder,
  rules: WorkspaceRules,
  exec: Exec,
  signal: AbortSignal,
): Promise<WorkspaceResult> {
  switch (workspace.kind) {
    case 'empty':
      await mkdir(folder.workspace, { recursive: true, mode: 0o700 });
      return { ok: true, path: await realpath(folder.workspace) };
    case 'path':
      return resolvePath(workspace.path, rules);
    case 'git':
      return cloneWorkspace(workspace, folder, rules, exec, signal);
    default:
      return assertNever(workspace);
  }
}

async function resolvePath(path: string, rules: WorkspaceRules): Promise<WorkspaceResult> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || !(await isDirectory(real))) {
    return refuse('workspace_missing', `The workspace ${path} is not a folder on this machine.`);
  }
  const dataDir = await realpath(rules.dataDir);
  if (isBelow(real, dataDir)) {
    return refuse('workspace_not_allowed', "A workspace must not lie inside Engram's data folder.");
  }
  const roots = await Promise.all(rules.roots.map((root) => realpath(root).catch(() => undefined)));
  if (!roots.some((root) => root !== undefined && isBelow(real, root))) {
    return refuse(
      'workspace_not_allowed',
      `The workspace ${path} is not below an allowed folder. Add its folder to ENGRAM_WORKSPACE_ROOTS to allow it.`,
    );
  }
  return { ok: true, path: real };
}

function isBelow(path: string, root: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !way.startsWith(sep);
}

/** Git over https and ssh only; everything that could run a program or read a local path is off. */
const GIT_SAFETY = [
  '-c',
  'core.hooksPath=/dev/null',
  '-c',
  'protocol.allow=never',
  '-c',
  'protocol.https.allow=always',
  '-c',
  'protocol.ssh.allow=always',
  '-c',
  'core.fsmonitor=false',
];

const GIT_DEFAULTS = { GIT_SSH_COMMAND: 'ssh -oBatchMode=yes', GIT_ASKPASS: 'true' };
const GIT_SAFE_ENVIRONMENT = {
  GIT_ALLOW_PROTOCOL: 'https:ssh',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_LFS_SKIP_SMUDGE: '1',
};
/** How to reach and trust a server; anything else for git (a GIT_DIR, say) would change what is cloned. */
const GIT_REACH = /^GIT_(SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_\w+|PROXY_\w+|HTTP_\w+)$/;

function gitEnvironment(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const wanted = Object.entries(given).filter(([name]) => !name.startsWith('GIT_') || GIT_REACH.test(name));
  return { ...GIT_DEFAULTS, ...Object.fromEntries(wanted), ...GIT_SAFE_ENVIRONMENT };
}

const FULL_COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

async function cloneWorkspace(
  source: { readonly url: string; readonly ref?: string },
  folder: SessionFolder,
  rules: WorkspaceRules,
  exec: Exec,
  signal: AbortSignal,
): Promise<WorkspaceResult> {
  if (!isCloneUrl(source.url)) {
    return refuse(
      'clone_refused',
      'A git workspace needs an https or ssh address, such as https://host/owner/name.git.',
    );
  }
  const { ref } = source;
  if (ref !== undefined && !/^[\w][\w./+@-]*$/.test(ref)) {
    return refuse('clone_refused', 'The git ref may hold letters, digits and ./+@_- only.');
  }
  // Cloned beside its place: a clone that a crash cut short is never taken for a whole one.
  const part = `${folder.workspace}.part`;
  await rm(part, { recursive: true, force: true });
  const branch = ref === undefined || FULL_COMMIT.test(ref) ? [] : [`--branch=${ref}`];
  const deadline = Date.now() + rules.cloneTimeoutMs;
  const git = (args: readonly string[], cwd: string): Promise<SandboxExit> =>
    exec(['git', ...GIT_SAFETY, ...args], {
      cwd,
      timeoutMs: Math.max(1, deadline - Date.now()),
      env: gitEnvironment(rules.gitEnvironment),
      signal,
    });
  let exit = await git(['clone', '--quiet', '--template=', ...branch, '--', source.url, part], folder.root);
  if (exit.exitCode === 0 && ref !== undefined && FULL_COMMIT.test(ref)) {
    exit = await git(['checkout', '--quiet', '--detach', ref], part);
  }
  if (exit.exitCode !== 0) {
    await rm(part, { recursive: true, force: true });
    if (signal.aborted) return refuse('aborted', 'The clone was stopped.');
    if (exit.timedOut) {
      const seconds = Math.round(rules.cloneTimeoutMs / 1000);
      return refuse(
        'clone_timeout',
        `The clone took longer than ${seconds} s and was stopped. Send a prompt to try again.`,
      );
    }
    return refuse('clone_failed', `git could not clone the workspace: ${describeGitError(exit.stderr)}`);
  }
  await rm(folder.workspace, { recursive: true, force: true });
  await rename(part, folder.workspace);
  return { ok: true, path: await realpath(folder.workspace) };
}

/** https, ssh, or the short ssh form user@host:path. Never a form git reads as an option, helper or path. */
export function isCloneUrl(url: string): boolean {
  for (const character of url) if (character <= ' ' || character === '\u007f') return false;
  if (/^[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:(?!:|\/\/)[^-]/.test(url)) return true;
  if (!/^(https|ssh):\/\/[^-/]/.test(url) || !URL.canParse(url)) return false;
  const { hostname, username } = new URL(url);
  return hostname !== '' && !hostname.startsWith('-') && !username.startsWith('-') && !username.startsWith('%');
}

/** Git's last words without credentials that may stand in an address. */
function describeGitError(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.find((line) => /^(fatal|error):/.test(line)) ?? lines.at(-1) ?? 'no reason given';
  return telling.replace(/:\/\/[^@/\s]*@/g, '://').slice(0, 500);
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

function refuse(code: SandboxRefusal, message: string): WorkspaceResult {
  return { ok: false, code, message };
}
