// The deployment files against the schemas of their kinds and against Engram itself: commands, settings, ports,
// paths and times in them are those that the program has.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnvironment, repositoryRoot } from '@engram/testkit';
import { DCLinter } from 'dclint';
import dockerfile from 'dockerfile-utils';
import { describe, expect, it } from 'vitest';
import { readConfig, SETTINGS } from '../src/config.js';
import {
  asList,
  asTree,
  at,
  deployPath,
  kubernetesFiles,
  manifestProblems,
  readDeployFile,
  readDocuments,
  type Tree,
} from './deployment-files.js';

const DEFAULT_PORT = readConfig({}, {}).port;
const AGENT_CREDENTIALS = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'];
const STORE_CREDENTIALS = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
const known = (name: string): boolean =>
  [...SETTINGS, ...AGENT_CREDENTIALS, ...STORE_CREDENTIALS, 'DATABASE_URL'].includes(name);
/** Putting sessions to sleep after the drain, files into a store, and the last word to the database. */
const CLOSE_SECONDS = 25;

const commands = new Set(
  [
    ...String(
      spawnSync(process.execPath, [join(repositoryRoot, 'packages/cli/dist/main.js'), '--help'], {
        env: cleanEnvironment(),
      }).stdout,
    ).matchAll(/^ {2}([a-z]+)\b/gm),
  ].map((match) => match[1] ?? ''),
);
const apiPaths = Object.keys(JSON.parse(readFileSync(join(repositoryRoot, 'docs/openapi.json'), 'utf8')).paths);

const manifests = kubernetesFiles()
  .filter((name) => name !== 'kustomization.yaml')
  .flatMap((name) => readDocuments(`kubernetes/${name}`));
const ofKind = (kind: string): readonly Tree[] => manifests.filter((manifest) => manifest.kind === kind);
const workloads = [...ofKind('Deployment'), ...ofKind('StatefulSet')];
const containerOf = (workload: Tree): Tree => asTree(asList(at(workload, 'spec', 'template', 'spec', 'containers'))[0]);
const labelsOf = (workload: Tree): unknown => at(workload, 'spec', 'template', 'metadata', 'labels');
const compose = asTree(readDocuments('compose.yaml')[0]);
const services = asTree(compose.services);

function envOf(container: Tree): Record<string, string> {
  return Object.fromEntries(
    asList(container.env).map(({ name, value }) => [String(name), typeof value === 'string' ? value : ''] as const),
  );
}

describe('the Kubernetes manifests', () => {
  it('follow the schemas of their kinds, without a field that these do not know', async () => {
    expect(manifests.length).toBeGreaterThan(8);
    for (const manifest of manifests) expect(await manifestProblems(manifest), String(manifest.kind)).toEqual([]);
  });

  it('would be found wrong: a misspelt probe, a number as text, a kind that is none', async () => {
    const good = JSON.stringify(ofKind('Deployment')[0]);
    expect(await manifestProblems(asTree(JSON.parse(good.replace('livenessProbe', 'livenessProb'))))).toEqual([
      '/spec/template/spec/containers/0/livenessProb: unknown field',
    ]);
    expect(await manifestProblems(asTree(JSON.parse(good.replace('"replicas":2', '"replicas":"two"'))))).toContain(
      '/spec/replicas: type',
    );
    expect(await manifestProblems({ apiVersion: 'apps/v1', kind: 'Deploiment' })).toHaveLength(1);
  });

  it('are all applied by the kustomization, but for the example', () => {
    const listed = at(readDocuments('kubernetes/kustomization.yaml')[0], 'resources');
    const files = kubernetesFiles().filter((name) => name !== 'kustomization.yaml' && !name.includes('example'));
    expect((Array.isArray(listed) ? listed.map(String) : []).sort()).toEqual([...files].sort());
  });

  it('run commands that exist, with settings that exist and are accepted', () => {
    const secret = Object.keys(asTree(at(ofKind('Secret')[0], 'stringData')));
    expect(workloads.map((workload) => at(containerOf(workload), 'args', '0'))).toEqual(['serve', 'host']);
    for (const workload of workloads) {
      const container = containerOf(workload);
      expect(commands).toContain(at(container, 'args', '0'));
      const env = envOf(container);
      for (const name of Object.keys(env)) expect(known(name), name).toBe(true);
      expect(() => readConfig({}, env)).not.toThrow();
      for (const entry of asList(container.env)) {
        const ref = at(entry, 'valueFrom', 'secretKeyRef');
        if (ref === undefined) continue;
        expect(at(ref, 'name')).toBe(at(ofKind('Secret')[0], 'metadata', 'name'));
        expect(secret).toContain(at(ref, 'key'));
      }
      expect(Object.keys(env)).toContain('DATABASE_URL');
    }
    expect(() =>
      readConfig(
        {},
        Object.fromEntries(
          Object.entries(asTree(at(ofKind('Secret')[0], 'stringData'))).map(([name, value]) => [name, String(value)]),
        ),
      ),
    ).not.toThrow();
  });

  it('probe what answers, and wait longer than a start and an end take', () => {
    const [serve, host] = workloads.map(containerOf);
    expect(asList(at(serve, 'ports'))).toEqual([{ name: 'http', containerPort: DEFAULT_PORT }]);
    for (const [probe, path] of [
      ['startupProbe', '/healthz'],
      ['readinessProbe', '/readyz'],
      ['livenessProbe', '/healthz'],
    ] as const) {
      expect(at(serve, probe, 'httpGet')).toEqual({ path, port: 'http' });
      expect(apiPaths).toContain(path);
    }
    for (const probe of ['startupProbe', 'livenessProbe']) {
      const [program, command] = [at(host, probe, 'exec', 'command', '0'), at(host, probe, 'exec', 'command', '1')];
      expect([program, commands.has(String(command))]).toEqual(['engram', true]);
    }
    for (const container of [serve, host]) {
      const probe = at(container, 'startupProbe');
      const startSeconds = Number(at(probe, 'periodSeconds')) * Number(at(probe, 'failureThreshold'));
      expect(startSeconds * 1_000).toBeGreaterThan(2 * readConfig({}, {}).databaseWaitMs);
    }
    const graceOf = (workload: Tree | undefined): number =>
      Number(at(workload, 'spec', 'template', 'spec', 'terminationGracePeriodSeconds'));
    const drainSeconds = readConfig({}, envOf(asTree(host))).drainMs / 1_000;
    expect(graceOf(workloads[1])).toBeGreaterThanOrEqual(drainSeconds + CLOSE_SECONDS);
    const preStop = Number(at(serve, 'lifecycle', 'preStop', 'exec', 'command', '1'));
    expect(preStop).toBeGreaterThan(0);
    expect(graceOf(workloads[0])).toBeGreaterThanOrEqual(preStop + CLOSE_SECONDS);
  });

  it('run as nobody special, with bounded memory, and write only to mounted folders', () => {
    const image = readDeployFile('Dockerfile');
    for (const workload of workloads) {
      const container = containerOf(workload);
      expect(at(workload, 'spec', 'template', 'spec', 'securityContext')).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(at(container, 'resources', 'limits', 'memory')).toBeDefined();
      expect(at(container, 'resources', 'requests', 'cpu')).toBeDefined();
      const mounts = asList(container.volumeMounts).map((mount) => mount.mountPath);
      expect(mounts).toEqual(['/data', '/tmp']);
      expect(image).toContain('VOLUME /data');
    }
  });

  it('select the pods they are about', () => {
    for (const other of [...ofKind('PodDisruptionBudget'), ...ofKind('Service'), ...ofKind('NetworkPolicy')]) {
      const selector = at(other, 'spec', 'podSelector') ?? at(other, 'spec', 'selector');
      const labels = at(selector, 'matchLabels') ?? selector;
      expect(
        workloads.filter((workload) => expect.objectContaining(asTree(labels)).asymmetricMatch(labelsOf(workload))),
      ).toHaveLength(1);
    }
    for (const workload of workloads)
      expect(at(workload, 'spec', 'selector', 'matchLabels')).toEqual(labelsOf(workload));
    const [stateful] = ofKind('StatefulSet');
    expect(ofKind('Service').map((service) => at(service, 'metadata', 'name'))).toContain(
      at(stateful, 'spec', 'serviceName'),
    );
  });
});

describe('the compose file', () => {
  const style = {
    'require-quotes-in-ports': 0,
    'service-keys-order': 0,
    'top-level-properties-order': 0,
    'services-alphabetical-order': 0,
  } as const;
  interface Linted {
    readonly messages: readonly { readonly rule: string; readonly line: number; readonly message: string }[];
  }
  const problems = (path: string): readonly string[] => {
    const linter = new DCLinter({ rules: style, exclude: [], debug: false, quiet: false });
    const linted: readonly Linted[] = linter.lintFiles([path], false);
    return linted.flatMap(({ messages }) => messages.map(({ rule, line, message }) => `${rule} ${line}: ${message}`));
  };

  it('follows the compose specification', () => {
    expect(problems(deployPath('compose.yaml'))).toEqual([]);
  });

  it('would be found wrong: a key that is none', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'engram-compose-'));
    try {
      const path = join(folder, 'compose.yaml');
      await writeFile(path, readDeployFile('compose.yaml').replace('    healthcheck:', '    healtcheck:'));
      expect(problems(path).join()).toContain('must NOT have additional properties');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('runs commands and settings that exist, and has time to drain', () => {
    const engrams = Object.entries(services).filter(([name]) => name !== 'postgres');
    expect(engrams.map(([name]) => name).sort()).toEqual(['host', 'serve']);
    for (const [name, service] of engrams) {
      expect(at(service, 'command')).toEqual([name]);
      expect(commands).toContain(name);
      const env = asTree(at(service, 'environment'));
      for (const setting of Object.keys(env)) expect(known(setting), setting).toBe(true);
      expect(at(service, 'depends_on')).toEqual({ postgres: { condition: 'service_healthy' } });
      expect(at(service, 'volumes')).toEqual([`${name}:/data`]);
      expect(Object.keys(asTree(compose.volumes))).toContain(name);
    }
    expect(at(services, 'serve', 'ports')).toEqual([`127.0.0.1:${DEFAULT_PORT}:${DEFAULT_PORT}`]);
    expect(commands).toContain(at(services, 'host', 'healthcheck', 'test', '2'));
    const drainSeconds = Number(at(services, 'host', 'environment', 'ENGRAM_DRAIN_MS')) / 1_000;
    const minutes = /^(\d+)m$/.exec(String(at(services, 'host', 'stop_grace_period')))?.[1];
    expect(Number(minutes) * 60).toBeGreaterThanOrEqual(drainSeconds + CLOSE_SECONDS);
  });
});

describe('the Dockerfile', () => {
  const text = readDeployFile('Dockerfile');

  it('has no fault that a linter knows, and the linter would know one', () => {
    expect(dockerfile.validate(text)).toEqual([]);
    expect(dockerfile.validate(text.replace('EXPOSE 4400', 'EXPOSE port'))).toHaveLength(1);
    expect(dockerfile.validate(text.replace('ENTRYPOINT', 'ENTRYPIONT'))).toHaveLength(1);
  });

  it('uses what is in the checkout, the right Node, the port and settings of the program', () => {
    const { scripts, engines } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'));
    for (const [, script] of text.matchAll(/npm run (\w+)/g)) expect(scripts).toHaveProperty(script ?? '');
    for (const [, path] of text.matchAll(/node (scripts\/\S+)/g))
      expect(existsSync(join(repositoryRoot, path ?? ''))).toBe(true);
    for (const [, path] of text.matchAll(/\/opt\/engram\/(packages\S+\.js)/g))
      expect(existsSync(join(repositoryRoot, path ?? ''))).toBe(true);
    const least = Number(/>=(\d+)/.exec(engines.node)?.[1]);
    for (const [, major] of text.matchAll(/^FROM node:(\d+)-/gm)) expect(Number(major)).toBeGreaterThanOrEqual(least);
    expect(text).toContain(`EXPOSE ${DEFAULT_PORT}`);
    for (const [, setting] of text.matchAll(/(ENGRAM_\w+)=/g)) expect(known(setting ?? ''), setting).toBe(true);
    expect(commands).toContain(/^CMD \["(\w+)"\]/m.exec(text)?.[1]);
    expect(text).toMatch(/^USER 1000:1000$/m);
    expect(text).toContain('"/usr/bin/tini", "--"');
  });

  it('leaves out nothing that the build or the program needs', () => {
    const ignored = readDeployFile('Dockerfile.dockerignore').split('\n');
    for (const needed of [
      'packages',
      'scripts',
      'agents',
      'package-lock.json',
      '.npmrc',
      'tsconfig.base.json',
      'docs',
    ]) {
      expect(ignored).not.toContain(needed);
    }
  });
});
