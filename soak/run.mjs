// `npm run soak -- --rounds N --seed S [--claude VERSION|PATH] [--parallel P] [--round K] [--keep]
// [--kill agent|harness@EVENT]`: random, replayable schedules of questions, people and crashes over the whole
// stack with the real CLI. Appends one line to bench/results/soak.jsonl; exit code 1 when anything was
// lost, doubled, stuck or false.

import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { claudeBinary, claudeVersions, repositoryRoot } from '@engram/testkit';
import { measuredCommit } from './measured-commit.mjs';
import { planDirected, planReplay, planRun } from './schedule.mjs';
import { CLASSES, countFindings, runSoak } from './soak.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '12' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    claude: { type: 'string', default: claudeVersions().at(-1) },
    parallel: { type: 'string', default: '4' },
    /** Plays the group of this round again. */
    round: { type: 'string' },
    /** `agent@question_answered`: every round the same, with this kill a little after that event. */
    kill: { type: 'string' },
    /** Keeps the facts of every round, and the data folder. */
    keep: { type: 'boolean', default: false },
  },
});
const seed = values.seed;
const parallel = Number(values.parallel);
const only = values.round === undefined ? undefined : Number(values.round);
const claude = values.claude.includes('/') ? values.claude : claudeBinary(values.claude);
const say = (line) => process.stdout.write(`${line}\n`);

say(
  `soak: seed ${seed}, Claude Code ${values.claude}, ${only === undefined ? `${values.rounds} rounds` : `round ${only}`}, ${parallel} at once`,
);
const outcome = await runSoak({
  claude,
  groups: plan(),
  keep: values.keep,
  onFault: (fault) => say(`        ${JSON.stringify(fault)}`),
  onRound: ({ round, kind, tookMs, findings, kept }) => {
    say(
      `${findings.length === 0 ? 'ok  ' : 'FAIL'} ${String(round).padStart(4)}  ${kind.padEnd(10)} ${(tookMs / 1000).toFixed(1)} s`,
    );
    for (const finding of findings) say(`          ${finding.class}: ${finding.what}`);
    if (findings.length > 0)
      say(
        `          again: npm run soak -- --seed ${seed} --round ${round} --parallel ${parallel} --claude ${values.claude}${values.kill ? ` --kill ${values.kill} --rounds ${values.rounds}` : ''}\n          facts: ${kept}`,
      );
  },
});

const counts = countFindings(outcome);
const took = outcome.rounds.map((round) => round.tookMs).sort((a, b) => a - b);
const failing = outcome.rounds.filter((round) => round.findings.length > 0);
for (const { what } of outcome.stack) say(`stack: ${what}`);
say(
  `${outcome.rounds.length} rounds in ${outcome.seconds} s (${(outcome.seconds / outcome.rounds.length).toFixed(1)} s a round), ` +
    CLASSES.map((name) => `${counts[name]} ${name}`).join(', '),
);
record({
  at: new Date().toISOString(),
  seed,
  rounds: outcome.rounds.length,
  ...(only === undefined ? {} : { replay_of: only }),
  ...(values.kill === undefined ? {} : { kill: values.kill }),
  parallel,
  claude: values.claude,
  commit: measuredCommit(),
  counts,
  faults: outcome.faults,
  seen: outcome.seen,
  seconds: outcome.seconds,
  seconds_per_round: Number((outcome.seconds / outcome.rounds.length).toFixed(2)),
  median_round_ms: took[Math.floor(took.length / 2)],
  failing: failing.map(({ round, findings }) => ({ round, findings })),
  stack: outcome.stack,
});
process.exitCode = failing.length > 0 || outcome.stack.length > 0 ? 1 : 0;

function plan() {
  const rounds = Number(values.rounds);
  const [target, on] = values.kill?.split('@') ?? [];
  if (on !== undefined) return planDirected(seed, { target, on }, rounds, parallel);
  return only === undefined ? planRun(seed, rounds, parallel) : [planReplay(seed, only, parallel)];
}

function record(line) {
  const folder = join(repositoryRoot, 'bench/results');
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, 'soak.jsonl'), `${JSON.stringify(line)}\n`);
}
