// Reads what is in deploy/, and validates it with the schemas of its kind.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '@engram/testkit';
import YAML from 'yaml';

const deploy = join(repositoryRoot, 'deploy');

/** JSON as it comes out of YAML. */
export type Tree = { readonly [key: string]: unknown };

export const readDeployFile = (name: string): string => readFileSync(join(deploy, name), 'utf8');
export const deployPath = (name: string): string => join(deploy, name);

export function kubernetesFiles(): readonly string[] {
  return readdirSync(join(deploy, 'kubernetes')).filter((name) => name.endsWith('.yaml'));
}

/** Every document of a file. A syntax error or a key given twice throws. */
export function readDocuments(name: string): readonly Tree[] {
  return YAML.parseAllDocuments(readDeployFile(name), { merge: true, uniqueKeys: true }).map((document) => {
    const [error] = [...document.errors, ...document.warnings];
    if (error !== undefined) throw error;
    return asTree(document.toJS());
  });
}

export function asTree(value: unknown): Tree {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error(`not an object: ${JSON.stringify(value)}`);
}

export function asList(value: unknown): readonly Tree[] {
  return Array.isArray(value) ? value.map(asTree) : [];
}

/** `at(doc, 'spec', 'template')`; undefined when some part is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

const SCHEMAS: Readonly<Record<string, string>> = {
  'apps/v1 Deployment': 'IoK8sApiAppsV1Deployment',
  'apps/v1 StatefulSet': 'IoK8sApiAppsV1StatefulSet',
  'v1 Service': 'IoK8sApiCoreV1Service',
  'v1 Namespace': 'IoK8sApiCoreV1Namespace',
  'v1 Secret': 'IoK8sApiCoreV1Secret',
  'policy/v1 PodDisruptionBudget': 'IoK8sApiPolicyV1PodDisruptionBudget',
  'networking.k8s.io/v1 NetworkPolicy': 'IoK8sApiNetworkingV1NetworkPolicy',
};

/** What the schema of its kind says against a manifest, fields that it does not have included. */
export async function manifestProblems(manifest: Tree): Promise<readonly string[]> {
  const kind = `${String(manifest.apiVersion)} ${String(manifest.kind)}`;
  const name = SCHEMAS[kind];
  if (name === undefined) return [`no schema for ${kind}`];
  const { validate } = await import(`kubernetes-models/_schemas/${name}`);
  const { watched, unread } = watchReads(manifest);
  validate(watched);
  const wrong: readonly { instancePath: string; keyword: string }[] = validate.errors ?? [];
  return [
    ...wrong.map((error) => `${error.instancePath}: ${error.keyword}`),
    ...unread().map((path) => `${path}: unknown field`),
  ];
}

/** The validator looks at every field it knows; what it never looks at, it does not know. */
function watchReads(root: object): { readonly watched: object; unread(): readonly string[] } {
  const left = new Set<string>();
  const watch = (value: object, path: string): object => {
    if (!Array.isArray(value)) for (const key of Object.keys(value)) left.add(`${path}/${key}`);
    return new Proxy(value, {
      get(target, key) {
        const found: unknown = Reflect.get(target, key);
        if (typeof key === 'symbol') return found;
        const below = `${path}/${key}`;
        left.delete(below);
        if (typeof found !== 'object' || found === null) return found;
        const known = seen.get(found) ?? watch(found, below);
        seen.set(found, known);
        return known;
      },
    });
  };
  const seen = new Map<object, object>();
  return { watched: watch(root, ''), unread: () => [...left] };
}
