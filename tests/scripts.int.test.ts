// The scripts behind `npm start`, in copies of the checkout: what they say when they cannot go on, how
// fast, and that they do nothing when nothing is to be done.

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnvironment, repositoryRoot } from '@engram/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'engram a checkout-'));
  for (const path of ['scripts', 'package.json', 'package-lock.json', '.npmrc', 'tsconfig.base.json']) {
    cpSync(join(repositoryRoot, path), join(folder, path), { recursive: true });
  }
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  readonly code: number | null;
  readonly words: string;
  readonly ms: number;
}

function runScript(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const started = Date.now();
  const child = spawn(process.execPath, args, { cwd: folder, env: cleanEnvironment(env) });
  let words = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      words += String(chunk);
    });
  }
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, words, ms: Date.now() - started })));
}

/** A registry that refuses every connection. */
const NO_REGISTRY = { npm_config_registry: 'http://127.0.0.1:9', npm_config_cache: '' };

describe('npm start', () => {
  it('says at once that packages cannot be fetched, and what to do', async () => {
    const cache = mkdtempSync(join(tmpdir(), 'engram-cache-'));
    const ran = await runScript(['scripts/start.mjs'], { ...NO_REGISTRY, npm_config_cache: cache });
    rmSync(cache, { recursive: true, force: true });
    expect(ran.code).toBe(1);
    expect(ran.words).toContain('Fetching packages failed');
    expect(ran.words).toContain('ECONNREFUSED');
    expect(ran.words).toContain('Next step: check the network');
    expect(ran.ms).toBeLessThan(20_000);
  });

  it('says so when there is no npm', async () => {
    const ran = await runScript(['scripts/start.mjs'], { PATH: '/nowhere', npm_execpath: '' });
    expect(ran).toMatchObject({ code: 1 });
    expect(ran.words).toContain('npm could not be started');
  });

  it('refuses a Node that is too old before anything else', async () => {
    const fake = join(folder, 'fake-version.cjs');
    writeFileSync(fake, "Object.defineProperty(process.versions, 'node', { value: '18.20.1' });\n");
    const ran = await runScript(['--require', fake, 'scripts/start.mjs']);
    expect(ran).toMatchObject({ code: 1 });
    expect(ran.words).toContain('this is Node 18.20.1; Engram needs 20.19 or newer');
    expect(ran.words).toContain('Next step');
  });

  it('names the lines that do not build', async () => {
    symlinkSync(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'));
    const source = join(folder, 'packages/harness-proto');
    mkdirSync(join(source, 'src'), { recursive: true });
    cpSync(join(repositoryRoot, 'packages/harness-proto/tsconfig.json'), join(source, 'tsconfig.json'));
    writeFileSync(join(source, 'src/index.ts'), "export const one: number = 'one';\n");
    const ran = await runScript(['scripts/start.mjs']);
    expect(ran.code).toBe(1);
    expect(ran.words).toContain('building the server failed');
    expect(ran.words).toContain('packages/harness-proto/src/index.ts');
  });

  it('finds everything fresh without asking npm or the compiler', async () => {
    const probe = `
      const started = performance.now();
      const { isInstalled } = await import(${JSON.stringify(join(repositoryRoot, 'scripts/install.mjs'))});
      const { staleTargets } = await import(${JSON.stringify(join(repositoryRoot, 'scripts/build.mjs'))});
      const installed = isInstalled(${JSON.stringify(repositoryRoot)}, { dev: false });
      staleTargets();
      console.log(JSON.stringify({ installed, cpuMs: process.cpuUsage().user / 1000 }));
    `;
    const ran = await runScript(['--input-type=module', '-e', probe]);
    const { installed, cpuMs } = JSON.parse(ran.words);
    expect(installed).toBe(true);
    expect(cpuMs).toBeLessThan(300);
  });
});

describe('one at a time', () => {
  it('lets the second script wait for the first, and go on when the first is killed', async () => {
    const hold = `import { withCheckoutLock } from './scripts/checkout-lock.mjs';
      await withCheckoutLock(async () => { console.log('held'); await new Promise((r) => setTimeout(r, 60_000)); });`;
    const first = spawn(process.execPath, ['--input-type=module', '-e', hold], {
      cwd: folder,
      env: cleanEnvironment(),
    });
    await new Promise((resolve) => first.stdout.once('data', resolve));
    const second = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { withCheckoutLock } from './scripts/checkout-lock.mjs';
        await withCheckoutLock(async () => console.log('mine'), () => console.log('waits'));`,
      ],
      { cwd: folder, env: cleanEnvironment() },
    );
    let words = '';
    second.stdout.on('data', (chunk) => {
      words += String(chunk);
    });
    while (!words.includes('waits')) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(words).toBe('waits\n');
    first.kill('SIGKILL');
    await new Promise((resolve) => second.on('close', resolve));
    expect(words).toBe('waits\nmine\n');
  });
});

describe('the fetch of an agent', () => {
  it('refuses a version that is not pinned', async () => {
    cpSync(join(repositoryRoot, 'agents'), join(folder, 'agents'), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    });
    const ran = await runScript(['scripts/fetch-agents.mjs', '1.0.0']);
    expect(ran.code).toBe(1);
    expect(ran.words).toContain('1.0.0 is not pinned here');
  });

  it('fails at once without a registry, and leaves nothing that looks whole', async () => {
    cpSync(join(repositoryRoot, 'agents'), join(folder, 'agents'), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    });
    const cache = mkdtempSync(join(tmpdir(), 'engram-cache-'));
    const ran = await runScript(['scripts/fetch-agents.mjs', 'newest'], { ...NO_REGISTRY, npm_config_cache: cache });
    rmSync(cache, { recursive: true, force: true });
    expect(ran.code).toBe(1);
    expect(ran.words).toContain('Fetching packages failed');
    expect(ran.ms).toBeLessThan(20_000);
    for (const name of readdirSync(join(folder, 'agents'))) {
      expect(() => readFileSync(join(folder, 'agents', name, 'node_modules/.package-lock.json'))).toThrow();
    }
  });
});

describe('npm test', () => {
  it('ends with the count alone on the last line and exit code 1 when it cannot prepare', async () => {
    const cache = mkdtempSync(join(tmpdir(), 'engram-cache-'));
    const ran = await runScript(['scripts/test.mjs'], { ...NO_REGISTRY, npm_config_cache: cache });
    rmSync(cache, { recursive: true, force: true });
    expect(ran.code).toBe(1);
    expect(ran.words.trimEnd().split('\n').at(-1)).toBe('0 passed, 1 failed');
  });

  it('refuses a part that does not exist', async () => {
    const ran = await runScript(['scripts/test.mjs', '--only', 'unti']);
    expect(ran.code).toBe(1);
    expect(ran.words).toContain('--only takes check, unit, int, e2e');
    expect(ran.words.trimEnd().split('\n').at(-1)).toBe('0 passed, 1 failed');
  });
});
