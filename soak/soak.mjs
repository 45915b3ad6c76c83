// Plays a run: opens the stack, plays its groups of rounds one after another, judges each round, and gives
// what came of it. Facts of failing rounds are kept in .cache/soak. Prints nothing; who runs it does.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDemoModel } from '@engram/demo-model';
import { repositoryRoot } from '@engram/testkit';
import { checkRound } from './check.mjs';
import { createClient } from './client.mjs';
import { playRound } from './player.mjs';
import { SCENARIO, stepsOf } from './scenarios.mjs';
import { openStage, pause } from './stage.mjs';

export const CLASSES = ['lost', 'double', 'stuck', 'false', 'swallowed', 'gap', 'refused', 'stack'];

/**
 * `claude`: the program's path. `groups`: what is played, see schedule.mjs. `onRound(round, facts)` and
 * `onFault(fault)` hear as it goes. Gives `{rounds, stack, faults, seen, seconds}`.
 */
export async function runSoak({ claude, groups, keep = false, onRound = () => {}, onFault = () => {} }) {
  const begun = Date.now();
  const promptOf = new Map();
  const plans = new Map();
  const model = await createDemoModel({
    keepRequests: 4_000,
    scenarios: {
      [SCENARIO]: (context) => {
        promptOf.set(context.n, context.arg);
        return scriptOf(plans, context);
      },
    },
  });
  const stack = [];
  const stage = await openStage({
    claude,
    model,
    onProblem: (kind, what) => stack.push({ class: 'stack', what: `${kind}: ${what}` }),
  }).catch(async (error) => {
    await model.close();
    throw error;
  });
  const client = createClient(stage);
  const done = [];
  const faults = {};
  const seen = {};
  try {
    for (const group of groups) {
      for (const plan of group.rounds) plans.set(plan.tag, plan);
      const played = await playGroup({ stage, model, client, promptOf, group, faults, onFault });
      const findings = played.map((facts) => checkRound(facts));
      for (const [at, facts] of played.entries()) {
        const round = {
          round: facts.plan.round,
          kind: facts.plan.kind,
          tookMs: facts.tookMs ?? 0,
          findings: findings[at],
        };
        for (const act of facts.acts)
          if (act.kind === 'fault') count(faults, act.stallMs ? `stall ${act.target}` : act.target);
        for (const name of eventsIn(facts)) count(seen, name);
        done.push(round);
        if (round.findings.length > 0 || keep) round.kept = await keepFacts(stage, group, facts, round.findings);
        onRound(round, facts);
      }
    }
  } finally {
    await stage.close(keep || stack.length > 0);
    await model.close();
  }
  return {
    rounds: done,
    stack,
    faults,
    seen,
    seconds: Math.round((Date.now() - begun) / 1000),
    dataDir: stage.dataDir,
  };
}

/** What a run met, so that one that met nothing is not taken for a good one. */
function eventsIn({ events, acts }) {
  const told = events.flatMap(({ type, code, reason, ok }) => {
    if (type === 'notice' || type === 'session_error') return [`${type} ${code}`];
    if (type === 'question_dismissed') return [`dismissed ${/^No-time/.test(reason) ? 'by a reason' : reason}`];
    if (type === 'run_completed') return [ok ? 'run ok' : 'run failed'];
    const counted = ['prompt_received', 'user_question', 'answer_submitted', 'question_answered', 'answer_failed'];
    return [...counted, 'run_interrupted'].includes(type) ? [type] : [];
  });
  const refused = acts.filter((act) => act.status === 409).map((act) => `409 to ${act.kind}`);
  const retried = acts.filter((act) => act.tries > 1).map((act) => `${act.kind} sent again`);
  return [...told, ...refused, ...retried];
}

function count(counts, name) {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** The model's turns for the prompt that the newest mark of the request names. */
function scriptOf(plans, { arg = '', workspace }) {
  const [, tag, number] = /^(r\d+)p(\d+)$/.exec(arg) ?? [];
  const plan = plans.get(tag);
  if (plan === undefined) return [];
  const kind = number === '1' ? plan.kind : (plan.followUps[Number(number) - 2] ?? 'plain');
  return stepsOf(kind, arg, plan.pace, workspace);
}

async function playGroup({ stage, model, client, promptOf, group, faults, onFault }) {
  const faultsOver = playStackFaults(stage, group.faults, faults, onFault);
  return Promise.all(group.rounds.map((plan) => playRound({ stage, model, client, promptOf, plan, faultsOver })));
}

async function playStackFaults(stage, plans, faults, onFault) {
  for (const fault of plans) {
    await pause(fault.afterMs);
    count(faults, `stack ${fault.what}`);
    onFault(fault);
    await stage.fault(fault);
  }
}

async function keepFacts(stage, group, facts, findings) {
  const folder = join(repositoryRoot, '.cache/soak');
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${group.seed}-${facts.plan.round}.json`);
  const logs = {
    host: await stage.logOf('host.log', facts.sessionId),
    harness: await stage.logOf('harness.log', facts.sessionId),
  };
  const kept = { seed: group.seed, parallel: group.parallel, faults: group.faults, findings, ...facts, logs };
  await writeFile(path, JSON.stringify(kept, null, 1));
  return path;
}

/** Findings by class over rounds and stack. */
export function countFindings({ rounds, stack }) {
  const counts = Object.fromEntries(CLASSES.map((name) => [name, 0]));
  for (const finding of [...rounds.flatMap((round) => round.findings), ...stack]) counts[finding.class] += 1;
  return counts;
}
