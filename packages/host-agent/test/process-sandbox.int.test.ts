import { execFile } from 'node:child_process';
import { access, chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProcessSandbox } from '../src/process-sandbox.js';
import type { SandboxStart } from '../src/sandbox.js';
import { isCloneUrl } from '../src/workspace.js';
import { describeSandbox } from './sandbox-contract.js';

const run = promisify(execFile);
const log = pino({ level: 'silent' });
const agentEnvironment = { PATH: process.env.PATH ?? '/usr/bin:/bin' };
const SESSION = '0b6c1f5e-8f0c-4a6e-9a61-6f1f3e7a2b11';

describeSandbox('process', ({ dataDir, root }) =>
  createProcessSandbox({
    dataDir,
    agentEnvironment,
    workspace: { roots: [root], cloneTimeoutMs: 5_000, gitEnvironment: {} },
    log,
  }),
);

describe('addresses that may be cloned', () => {
  it.each([
    'https://example.org/a/b.git',
    'https://user:token@example.org/a/b',
    'ssh://git@example.org:2222/a/b.git',
    'git@example.org:a/b.git',
  ])('takes %s', (url) => expect(isCloneUrl(url)).toBe(true));

  it.each([
    'http://example.org/a.git',
    'git://example.org/a.git',
    'file:///etc',
    '/etc',
    '../repo',
    'ext::sh -c touch% /tmp/x',
    '--upload-pack=touch /tmp/x',
    'ssh://-oProxyCommand=touch/x',
    'ssh://-oProxyCommand@host/x',
    '-oProxyCommand=x@host:a',
    'https://',
    'https:///etc/passwd',
    'https://exa mple.org/a',
    'git@host:-x',
    'a::git@host:b',
    'https://example.org/a\nb',
    '',
  ])('refuses %j', (url) => expect(isCloneUrl(url)).toBe(false));
});

describe('a git workspace', () => {
  let base: string;
  let dataDir: string;

  beforeEach(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'eg-git-')));
    dataDir = join(base, 'data');
    await mkdir(dataDir);
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  function clone(
    workspace: { url: string; ref?: string },
    options: { cloneTimeoutMs?: number; gitEnvironment?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<SandboxStart> {
    const sandbox = createProcessSandbox({
      dataDir,
      agentEnvironment,
      workspace: {
        roots: [],
        cloneTimeoutMs: options.cloneTimeoutMs ?? 20_000,
        gitEnvironment: options.gitEnvironment ?? {},
      },
      log,
    });
    return sandbox.start(
      { sessionId: SESSION, workspace: { kind: 'git', ...workspace } },
      { hadRun: false, signal: options.signal ?? new AbortController().signal },
    );
  }

  /** Real git over its ssh protocol; in place of ssh a program that runs the far side here. */
  async function fakeSsh(script: string): Promise<Record<string, string>> {
    const path = join(base, 'ssh');
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    // Left-overs of a git that runs us must not reach the clone.
    const strange = { GIT_DIR: '/nowhere', GIT_WORK_TREE: '/nowhere', GIT_ALLOW_PROTOCOL: 'file' };
    return { ...strange, GIT_SSH_COMMAND: path, GIT_SSH_VARIANT: 'simple' };
  }

  async function makeRepository(): Promise<{ first: string; template: string }> {
    const origin = join(base, 'origin');
    const git = async (...args: readonly string[]): Promise<string> => {
      const settings = ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'init.defaultBranch=main'];
      return (await run('git', [...settings, '-C', origin, ...args])).stdout.trim();
    };
    await mkdir(origin);
    await git('init', '-q');
    await writeFile(join(origin, 'file'), 'one');
    await git('add', '.');
    await git('commit', '-qm', 'one');
    const first = await git('rev-parse', 'HEAD');
    await writeFile(join(origin, 'file'), 'two');
    await git('commit', '-qam', 'two');
    await git('branch', 'side', first);
    return { first, template: join(base, 'template') };
  }

  it('is cloned once, at a branch or a commit, and runs no hook', async () => {
    const { first } = await makeRepository();
    const gitEnvironment = await fakeSsh(`shift; exec sh -c "$*"`);
    const url = `ssh://git@example.org${base}/origin`;
    const result = await clone({ url, ref: first }, { gitEnvironment });
    expect(result).toMatchObject({ ok: true, sandbox: { workspace: join(dataDir, 'sessions', SESSION, 'workspace') } });
    if (!result.ok) return;
    expect(await readFile(join(result.sandbox.workspace, 'file'), 'utf8')).toBe('one');
    await expect(access(join(result.sandbox.workspace, '.git', 'hooks'))).rejects.toThrow();
    await writeFile(join(result.sandbox.workspace, 'file'), 'work in progress');
    const again = await clone({ url, ref: 'side' }, { gitEnvironment });
    expect(again.ok).toBe(true);
    expect(await readFile(join(result.sandbox.workspace, 'file'), 'utf8')).toBe('work in progress');
  });

  it('that cannot be had is refused with the reason and without the credentials of its address', async () => {
    const result = await clone({ url: 'https://user:secret@127.0.0.1:1/a.git' });
    expect(result).toMatchObject({ ok: false, code: 'clone_failed' });
    if (!result.ok) expect(result.message).not.toContain('secret');
    await expect(access(join(dataDir, 'sessions', SESSION, 'workspace'))).rejects.toThrow();
  });

  it('that takes too long is stopped and refused', async () => {
    const gitEnvironment = await fakeSsh('exec sleep 60');
    const begun = Date.now();
    const result = await clone({ url: 'git@example.org:a.git' }, { gitEnvironment, cloneTimeoutMs: 500 });
    expect(result).toMatchObject({ ok: false, code: 'clone_timeout' });
    expect(Date.now() - begun).toBeLessThan(5_000);
  });

  it('that is not wanted any more is stopped', async () => {
    const gitEnvironment = await fakeSsh('exec sleep 60');
    const result = await clone({ url: 'git@example.org:a.git' }, { gitEnvironment, signal: AbortSignal.timeout(300) });
    expect(result).toMatchObject({ ok: false, code: 'aborted' });
  });

  it.each(['--upload-pack=x', '-b', 'a b', 'a\nb'])('with the ref %j is refused', async (ref) => {
    expect(await clone({ url: 'https://example.org/a.git', ref })).toMatchObject({ ok: false, code: 'clone_refused' });
  });
});
