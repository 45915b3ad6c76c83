// One shape for every bench result: what was run, on what, each sample, and a summary that can be
// made again from the samples. Written to bench/results/<name>.json and printed as a table.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

export function quantile(samples, q) {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

export function summarize(samples) {
  if (samples.length === 0) return { n: 0 };
  const round = (x) => Math.round(x * 100) / 100;
  return {
    n: samples.length,
    min: round(Math.min(...samples)),
    p50: round(quantile(samples, 0.5)),
    p99: round(quantile(samples, 0.99)),
    max: round(Math.max(...samples)),
  };
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}

/**
 * series: name → { unit, samples }; ratios: name → { value, of: [series, series], bound? }.
 * A bound is what the figure is held against; it is reported, never loosened here.
 */
export function record(name, { command, versions = {}, series, ratios = {}, facts = {} }) {
  const result = {
    name,
    command,
    commit: git('rev-parse', 'HEAD'),
    uncommitted_changes: git('status', '--porcelain', '--untracked-files=no', '--', 'packages', 'bench/*.mjs') !== '',
    at: new Date().toISOString(),
    machine: { cpus: os.cpus().length, model: os.cpus()[0]?.model, memory_gb: Math.round(os.totalmem() / 2 ** 30) },
    versions: { node: process.versions.node, ...versions },
    summary: Object.fromEntries(
      Object.entries(series).map(([key, s]) => [key, { unit: s.unit, ...summarize(s.samples) }]),
    ),
    ratios,
    facts,
    samples: Object.fromEntries(
      Object.entries(series).map(([key, s]) => [key, s.samples.map((x) => Math.round(x * 100) / 100)]),
    ),
  };
  fs.mkdirSync(new URL('./results/', import.meta.url), { recursive: true });
  fs.writeFileSync(new URL(`./results/${name}.json`, import.meta.url), `${JSON.stringify(result, null, 1)}\n`);
  console.log(
    `\n${name}  (${result.commit.slice(0, 10)}${result.uncommitted_changes ? ' + uncommitted changes' : ''})`,
  );
  console.table(result.summary);
  if (Object.keys(ratios).length > 0) console.table(ratios);
  if (Object.keys(facts).length > 0) console.table(facts);
  return result;
}
