// `engram doctor`: looks at everything a session needs and says for each part whether it is in order and,
// when it is not, how to mend it. Exit code 1 when something fails; warnings alone are 0.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { StoreSettings } from '@engram/host-agent';
import { pino } from 'pino';
import { type ClaudeProgram, claudeOnPath, namedClaude, pinnedClaude } from '../claude-program.js';
import { explainError } from '../cli-error.js';
import type { Config } from '../config.js';
import { openDataFolder } from '../data-folder.js';
import { webRoot } from '../installation.js';
import type { Output } from '../output.js';
import { colourPaint, plainPaint } from '../paint.js';
import { safeText } from '../terminal-text.js';
import { runTrial, type Trial } from '../trial-run.js';

type Verdict = 'ok' | 'warn' | 'fail';

export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  readonly detail: string;
  readonly mend?: string;
}

export async function doctor(config: Config, output: Output): Promise<number> {
  const findings: Finding[] = [];
  const tell = (finding: Finding): void => {
    findings.push(finding);
    if (!output.json) output.result(finding, toLines(finding, output));
  };
  tell(checkNode(process.versions.node));
  tell(await checkDataFolder(config.dataDir));
  tell(checkWebApp());
  const claude = await findClaude(config, (line) => output.note(line)).catch((error: unknown) => explainError(error));
  tell(toClaudeFinding(claude));
  if (typeof claude !== 'string') {
    for (const finding of toTrialFindings(await runTrial(config.ownEnvironment, claude.bin))) tell(finding);
  }
  tell(checkCredentials(config));
  if (config.store !== undefined) tell(await checkStore(config.store));
  const failed = findings.some((finding) => finding.verdict === 'fail');
  if (output.json) output.result({ ok: !failed, findings }, []);
  return failed ? 1 : 0;
}

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > 20 || (major === 20 && minor >= 19);
  return enough
    ? { check: 'node', verdict: 'ok', detail: version }
    : { check: 'node', verdict: 'fail', detail: `${version} is too old`, mend: 'install Node 20.19 or newer' };
}

async function checkDataFolder(path: string): Promise<Finding> {
  if (!existsSync(path)) return { check: 'data folder', verdict: 'ok', detail: `${path} (made at the first start)` };
  try {
    return { check: 'data folder', verdict: 'ok', detail: await openDataFolder(path) };
  } catch (error) {
    return { check: 'data folder', verdict: 'fail', detail: explainError(error) };
  }
}

function checkWebApp(): Finding {
  return existsSync(join(webRoot, 'index.html'))
    ? { check: 'web app', verdict: 'ok', detail: 'built' }
    : { check: 'web app', verdict: 'fail', detail: 'not built', mend: 'npm run build' };
}

async function findClaude(config: Config, note: (line: string) => void): Promise<ClaudeProgram> {
  return (
    (await namedClaude(config)) ??
    (await claudeOnPath(config.path, note)) ??
    (await pinnedClaude(config.ownEnvironment, note))
  );
}

function toClaudeFinding(claude: ClaudeProgram | string): Finding {
  return typeof claude === 'string'
    ? { check: 'claude', verdict: 'fail', detail: claude }
    : { check: 'claude', verdict: 'ok', detail: `${claude.version} (${claude.source}: ${claude.bin})` };
}

/** One trial, read as four findings; what was not reached is not judged. */
export function toTrialFindings(trial: Trial): readonly Finding[] {
  const problem = trial.problem ?? 'no reason known';
  if (trial.readyMs === undefined) {
    return [{ check: 'PostgreSQL and server', verdict: 'fail', detail: problem }];
  }
  const started: Finding = {
    check: 'PostgreSQL and server',
    verdict: 'ok',
    detail: `started and stopped in a trial (${trial.readyMs} ms with the trial’s session)`,
  };
  const isolation: Finding = {
    check: 'isolation',
    verdict: trial.isolation?.startsWith('process') === true ? 'warn' : 'ok',
    detail: trial.isolation ?? 'unknown',
  };
  if (!trial.asked) {
    return [
      started,
      isolation,
      {
        check: 'question tool',
        verdict: 'fail',
        detail: problem,
        mend: 'use a Claude Code that Engram is tested with: unset ENGRAM_CLAUDE_BIN and take it off PATH, or update it',
      },
    ];
  }
  const asked: Finding = { check: 'question tool', verdict: 'ok', detail: 'the agent asked and the question waited' };
  const answered: Finding = trial.answered
    ? { check: 'hook round trip', verdict: 'ok', detail: 'the answer reached the agent under the same call' }
    : {
        check: 'hook round trip',
        verdict: 'fail',
        detail: problem,
        mend: 'look into the session’s events and logs/host.log; report it with the CLI version',
      };
  return [started, isolation, asked, answered];
}

function checkCredentials(config: Config): Finding {
  return config.credentials === 'environment'
    ? { check: 'credentials', verdict: 'ok', detail: 'found in the environment (not tried)' }
    : {
        check: 'credentials',
        verdict: 'warn',
        detail: 'none in the environment; only the demo works',
        mend: 'set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN where Engram is started',
      };
}

/** Opens it as a host would; a new store is made. */
async function checkStore(settings: StoreSettings): Promise<Finding> {
  const { openStore } = await import('@engram/host-agent');
  try {
    const store = await openStore(settings, pino({ level: 'silent' }));
    const key = settings.key === undefined ? 'not encrypted' : 'encrypted';
    return { check: 'store', verdict: 'ok', detail: `${store.name} answers (${store.id}, ${key})` };
  } catch (error) {
    return { check: 'store', verdict: 'fail', detail: explainError(error) };
  }
}

function toLines({ check, verdict, detail, mend }: Finding, output: Output): readonly string[] {
  const paint = output.colours ? colourPaint : plainPaint;
  const colour = verdict === 'ok' ? paint.green : verdict === 'warn' ? paint.yellow : paint.red;
  const [first = '', ...rest] = safeText(detail).split('\n');
  return [
    `${colour(verdict.padEnd(4))}  ${check}: ${first}`,
    ...rest.map((line) => `      ${line.trim()}`),
    ...(mend === undefined ? [] : [`      mend: ${mend}`]),
  ];
}
