// The arrows between the packages: that the checker sees the modules, that they hold, and that it
// bites. The planted violations live in a temporary copy of the layout, with the real rules.

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from '@engram/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);

interface Cruise {
  readonly cruised: number;
  readonly violations: readonly { readonly rule: string; readonly from: string; readonly to: string }[];
}

async function cruise(folder: string): Promise<Cruise> {
  const args = [join(repositoryRoot, 'scripts/cruise.mjs'), '--json', folder];
  const { stdout } = await run(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }).catch(
    (error: Error & { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  );
  return JSON.parse(stdout);
}

const packages = [
  'harness-proto',
  'harness-claude',
  'coordinator',
  'host-agent',
  'orchestrator',
  'demo-model',
  'cli',
  'web',
];

describe('the arrows between packages', () => {
  it('hold, over all modules there are', async () => {
    const result = await cruise(repositoryRoot);
    expect(result.violations).toEqual([]);
    expect(result.cruised).toBeGreaterThan(250);
  });

  describe('bite when a module breaks them', () => {
    let folder = '';
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'engram-arrows-'));
      cpSync(join(repositoryRoot, '.dependency-cruiser.mjs'), join(folder, '.dependency-cruiser.mjs'));
      mkdirSync(join(folder, 'node_modules/@engram'), { recursive: true });
      for (const name of packages) {
        const at = join(folder, 'packages', name);
        plant(
          `packages/${name}/package.json`,
          JSON.stringify({ name: `@engram/${name}`, type: 'module', exports: { '.': './dist/index.js' } }),
        );
        plant(`packages/${name}/dist/index.js`, 'export const one = 1;\n');
        plant(`packages/${name}/src/index.ts`, 'export const one: number = 1;\n');
        symlinkSync(at, join(folder, 'node_modules/@engram', name));
      }
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    function plant(path: string, content: string): void {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }

    it.each([
      ['arrows-harness-proto', 'harness-proto', "import { one } from '@engram/coordinator';"],
      ['arrows-harness-claude', 'harness-claude', "import { one } from '@engram/host-agent';"],
      ['arrows-coordinator', 'coordinator', "import { one } from '@engram/orchestrator';"],
      ['arrows-host-agent', 'host-agent', "import { one } from '@engram/harness-claude';"],
      ['arrows-orchestrator', 'orchestrator', "import { one } from '@engram/host-agent';"],
      ['arrows-web', 'web', "import type { one } from '@engram/coordinator';", 'tsx'],
      ['arrows-demo-model', 'demo-model', "import { one } from '@engram/harness-proto';"],
      ['by-name', 'host-agent', "import { one } from '../../coordinator/src/index.js';"],
      ['resolvable', 'cli', "import { one } from './nowhere.js';"],
    ])('%s', async (rule, name, line, extension = 'ts') => {
      const path = `packages/${name}/src/planted.${extension}`;
      plant(path, `${line}\nexport const two = ${extension === 'tsx' ? '<p>one</p>' : 'one'};\n`);
      const { violations } = await cruise(folder);
      rmSync(join(folder, path));
      expect(violations.map((each) => each.rule)).toContain(rule);
      expect(violations.every((each) => each.from === path)).toBe(true);
    });

    it('not for the arrows that are allowed', async () => {
      plant(
        'packages/cli/src/allowed.ts',
        packages
          .slice(0, 6)
          .map((name, at) => `import { one as n${at} } from '@engram/${name}';`)
          .join('\n'),
      );
      const { violations, cruised } = await cruise(folder);
      expect(violations).toEqual([]);
      expect(cruised).toBeGreaterThanOrEqual(packages.length + 1);
    });
  });
});
