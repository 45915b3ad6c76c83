// `npm run compat -- [VERSION…] [--only probes|lives]`: installs each version of Claude Code, runs the
// probes of the bare CLI and the life cycles over the whole stack, prints a table and writes
// bench/results/compat.json. Exit code 1 when a version does not do what is known of it.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PROBES, repositoryRoot } from '@engram/testkit';
import { DEFAULT_VERSIONS, expectLife, expectProbe, judge } from './compat-expected.mjs';
import { installAgent } from './install-agent.mjs';
import { checkLives } from './life-cycle.mjs';
import { measuredCommit } from './measured-commit.mjs';

const { values, positionals } = parseArgs({ options: { only: { type: 'string' } }, allowPositionals: true });
const versions = positionals.length > 0 ? positionals : DEFAULT_VERSIONS;
const say = (line) => process.stdout.write(`${line}\n`);
const tell = ({ claim, holds, saw, verdict }) => {
  const word = holds === undefined ? '??' : holds ? 'yes' : 'no';
  say(
    `  ${word.padEnd(3)} ${verdict === 'as expected' ? ' ' : '!'} ${claim}${verdict === 'as expected' && holds ? '' : `\n          ${verdict}: ${saw}`}`,
  );
};

const results = [];
for (const version of versions) {
  say(`Claude Code ${version}`);
  const rows = [];
  const add = (row) => {
    const judged = { ...row, verdict: judge(row) };
    rows.push(judged);
    tell(judged);
  };
  try {
    const claude = installAgent(version, (line) => say(`  ${line}`));
    if (values.only !== 'lives') for (const probe of PROBES) add(await probed(probe, claude, version));
    if (values.only !== 'probes') {
      const onLife = ({ name, holds, saw }) =>
        add({ kind: 'life', name, claim: name, expected: expectLife(name, version), holds, saw });
      await checkLives({ claude, version, onLife });
    }
  } catch (error) {
    add({ kind: 'run', name: 'run', claim: 'can be installed and run', expected: true, saw: String(error) });
  }
  results.push({ version, rows });
}

table();
mkdirSync(join(repositoryRoot, 'bench/results'), { recursive: true });
writeFileSync(
  join(repositoryRoot, 'bench/results/compat.json'),
  `${JSON.stringify({ at: new Date().toISOString(), commit: measuredCommit(), results }, null, 1)}\n`,
);
const wrong = results
  .flatMap(({ rows }) => rows)
  .filter(({ verdict }) => verdict === 'failed' || verdict === 'CHANGED');
say(wrong.length === 0 ? 'all as expected' : `${wrong.length} not as expected`);
process.exitCode = wrong.length === 0 ? 0 : 1;

async function probed({ name, claim, run }, claude, version) {
  const row = { kind: 'probe', name, claim, expected: expectProbe(name, version) };
  // A busy machine may make one attempt too slow.
  for (let attempt = 1; ; attempt += 1) {
    try {
      return { ...row, ...(await run(claude)) };
    } catch (error) {
      if (attempt === 2) return { ...row, saw: error instanceof Error ? error.message : String(error) };
    }
  }
}

/** One line a claim, one column a version; `!` marks what is not as expected. */
function table() {
  const names = [...new Set(results.flatMap(({ rows }) => rows.map(({ name }) => name)))];
  const width = Math.max(...names.map((name) => name.length));
  say(`\n${''.padEnd(width)}  ${versions.map((version) => version.padStart(9)).join('')}`);
  for (const name of names) {
    const cells = results.map(({ rows }) => {
      const row = rows.find((each) => each.name === name);
      if (row === undefined) return '–';
      const word = row.holds === undefined ? '??' : row.holds ? 'yes' : 'no';
      return row.verdict === 'as expected' ? word : `${word}!`;
    });
    say(`${name.padEnd(width)}  ${cells.map((cell) => cell.padStart(9)).join('')}`);
  }
}
