// What every sandbox must do, whatever it enforces. Each implementation runs this suite.

import { access, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readProcessStart } from '../src/process-identity.js';
import type { RunningSandbox, Sandbox, SandboxSpec, SandboxStart } from '../src/sandbox.js';

const SESSION = '0b6c1f5e-8f0c-4a6e-9a61-6f1f3e7a2b11';
const OTHER = '1b6c1f5e-8f0c-4a6e-9a61-6f1f3e7a2b11';

export interface SandboxUnderTest {
  readonly dataDir: string;
  /** The only folder below which `path` workspaces are allowed. */
  readonly root: string;
}

export function describeSandbox(name: string, createSandbox: (folders: SandboxUnderTest) => Sandbox): void {
  describe(`the ${name} sandbox`, () => {
    let base: string;
    let dataDir: string;
    let root: string;
    let sandbox: Sandbox;

    beforeEach(async () => {
      base = await realpath(await mkdtemp(join(tmpdir(), 'eg-box-')));
      dataDir = join(base, 'data');
      root = join(base, 'root');
      await mkdir(dataDir);
      await mkdir(root);
      sandbox = createSandbox({ dataDir, root });
    });
    afterEach(async () => {
      await sandbox.endOrphans();
      await rm(base, { recursive: true, force: true });
    });

    const start = (spec: Partial<SandboxSpec> = {}, hadRun = false): Promise<SandboxStart> =>
      sandbox.start(
        { sessionId: SESSION, workspace: { kind: 'empty' }, ...spec },
        { hadRun, signal: new AbortController().signal },
      );
    async function started(spec: Partial<SandboxSpec> = {}, hadRun = false): Promise<RunningSandbox> {
      const result = await start(spec, hadRun);
      if (!result.ok) throw new Error(result.message);
      return result.sandbox;
    }

    it('says what it enforces', () => {
      expect(sandbox.traits.statement).not.toBe('');
      if (!sandbox.traits.enforcesFiles) expect(sandbox.traits.statement).toContain('no isolation');
    });

    it('refuses limits and network policies that it cannot enforce', async () => {
      const limited = await start({ limits: { memoryBytes: 1 << 30 } });
      expect(limited.ok).toBe(sandbox.traits.enforcesLimits);
      const closed = await start({ network: { mode: 'model_only', allowedHosts: [] } });
      expect(closed.ok).toBe(sandbox.traits.enforcesNetwork);
    });

    it('gives the same paths on every start, and keeps what was written', async () => {
      const first = await started();
      const exit = await first.exec(['sh', '-c', 'echo kept > note; echo home > "$HOME/mark"; pwd'], {
        cwd: first.workspace,
        timeoutMs: 10_000,
      });
      expect(exit).toMatchObject({ exitCode: 0, stdout: `${first.workspace}\n` });
      await first.stop(100);
      await first.store();
      const second = await started({}, true);
      expect(second).toMatchObject({
        workspace: first.workspace,
        agentHome: first.agentHome,
        stateDir: first.stateDir,
        restored: true,
      });
      expect(await readFile(join(second.workspace, 'note'), 'utf8')).toBe('kept\n');
      expect(await readFile(join(second.agentHome, 'mark'), 'utf8')).toBe('home\n');
    });

    it('says when the files of a session that had run are not here', async () => {
      expect((await started({}, true)).restored).toBe(false);
    });

    it('starts programs with a listed environment only', async () => {
      process.env.EG_LEAK = 'leak';
      const box = await started();
      const exit = await box.exec(['env'], { cwd: box.workspace, timeoutMs: 10_000, env: { ADDED: 'yes' } });
      delete process.env.EG_LEAK;
      expect(exit.stdout).toContain(`HOME=${box.agentHome}\n`);
      expect(exit.stdout).toContain('ADDED=yes\n');
      expect(exit.stdout).not.toContain('EG_LEAK');
    });

    it('ends what takes too long, with its children', async () => {
      const box = await started();
      const begun = Date.now();
      const exit = await box.exec(['sh', '-c', 'sleep 30 & sleep 30'], { cwd: box.workspace, timeoutMs: 200 });
      expect(exit.timedOut).toBe(true);
      expect(Date.now() - begun).toBeLessThan(5_000);
    });

    it('leaves no process behind when it stops, however it was started, and no other session is touched', async () => {
      const box = await started();
      const other = await started({ sessionId: OTHER });
      const background =
        'setsid sh -c "echo \\$\\$ > pid; exec sleep 300" > /dev/null 2>&1 & while [ ! -s pid ]; do sleep 0.02; done';
      for (const each of [box, other]) {
        await each.exec(['sh', '-c', background], { cwd: each.workspace, timeoutMs: 10_000 });
      }
      const pids = await Promise.all(
        [box, other].map(async (each) => Number(await readFile(join(each.workspace, 'pid'), 'utf8'))),
      );
      await box.stop(300);
      expect(await areAlive(pids)).toEqual([false, true]);
      expect(await sandbox.endOrphans()).toBeGreaterThan(0);
      expect(await areAlive(pids)).toEqual([false, false]);
    });

    it('removes a session with its files and leaves a path workspace alone', async () => {
      const project = join(root, 'project');
      await mkdir(project);
      await writeFile(join(project, 'mine'), 'mine');
      const box = await started({ workspace: { kind: 'path', path: project } });
      expect(box.workspace).toBe(project);
      await sandbox.remove(SESSION);
      await expect(access(box.agentHome)).rejects.toThrow();
      expect(await readFile(join(project, 'mine'), 'utf8')).toBe('mine');
    });

    it('takes a path workspace only below an allowed folder and never inside the data folder', async () => {
      await symlink('/etc', join(root, 'etc'));
      await symlink(dataDir, join(root, 'data'));
      const tries = [
        '/etc',
        join(root, 'etc'),
        join(root, 'data'),
        join(root, '..'),
        `${root}-not`,
        join(root, 'none'),
      ];
      const codes = await Promise.all(
        tries.map(async (path) => {
          const result = await start({ workspace: { kind: 'path', path } });
          return result.ok ? 'ok' : result.code;
        }),
      );
      expect(codes).toEqual([
        'workspace_not_allowed',
        'workspace_not_allowed',
        'workspace_not_allowed',
        'workspace_not_allowed',
        'workspace_missing',
        'workspace_missing',
      ]);
    });

    // Case RES-01.
    it('resolves a path workspace once: a link that points elsewhere later does not move the session', async () => {
      await mkdir(join(root, 'one'));
      await mkdir(join(root, 'two'));
      await symlink(join(root, 'one'), join(root, 'link'));
      const spec = { workspace: { kind: 'path', path: join(root, 'link') } } as const;
      expect((await started(spec)).workspace).toBe(join(root, 'one'));
      await rm(join(root, 'link'));
      await symlink(join(root, 'two'), join(root, 'link'));
      expect((await started(spec, true)).workspace).toBe(join(root, 'one'));
      await rm(join(root, 'one'), { recursive: true });
      expect(await start(spec, true)).toMatchObject({ ok: false, code: 'workspace_missing' });
    });
  });
}

/** A zombie that nobody has reaped yet is gone. */
function areAlive(pids: readonly number[]): Promise<readonly boolean[]> {
  return Promise.all(pids.map(async (pid) => (await readProcessStart(pid)) !== undefined));
}
