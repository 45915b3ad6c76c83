// `engram up` once nothing speaks against it: makes the plan for the supervisor, tells the person when all
// is ready, and waits for the end, asked for or not.

import { rm } from 'node:fs/promises';
import { endLeftovers, openRunDir } from '@engram/host-agent';
import { createApiClient } from './api-client.js';
import { CliError } from './cli-error.js';
import type { Config } from './config.js';
import { createFileLog } from './file-log.js';
import type { Output } from './output.js';
import { waitForDatabase } from './patient-start.js';
import { reachableUrl, removeServerFile, writeServerFile } from './server-file.js';
import { type Running, type SupervisorPlan, startAll } from './supervisor.js';

export interface UpRun {
  readonly config: Config;
  readonly main: string;
  readonly output: Output;
  /** Real path, owned by this process. */
  readonly dataDir: string;
  readonly token: string;
  readonly stopAsked: Promise<unknown>;
  readonly onUrl: (url: string) => void;
}

const NO_CREDENTIALS =
  'no model credential found (ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN): the page offers a demo with a scripted model';

export async function runEverything(run: UpRun): Promise<number> {
  const { output, dataDir, stopAsked } = run;
  const plan = await toPlan(run);
  if (
    plan.databaseUrl !== undefined &&
    !(await waitForDatabase(run.config, plan.databaseUrl, plan.log, output, stopAsked))
  )
    return 0;
  const running = await startAll(plan, stopAsked);
  try {
    await tellReady(run, running);
    const ended = await Promise.race([stopAsked.then(() => undefined), running.broken]);
    if (ended !== undefined) throw new CliError('part_ended', `Engram ends because a part of it did. ${ended}`);
    output.note('stopping …');
    return 0;
  } finally {
    await removeServerFile(dataDir);
    await running.stop();
    // Sockets and the like: nothing of it outlives the processes.
    await rm(plan.runDir, { recursive: true, force: true });
  }
}

async function tellReady({ config, output, dataDir, token, onUrl }: UpRun, running: Running): Promise<void> {
  const url = reachableUrl(config.host, running.port);
  onUrl(url);
  const { database, isolation, pids } = running;
  await writeServerFile(dataDir, { url, pid: process.pid, ...(database === undefined ? {} : { database }) });
  const link = await createApiClient({ url, token }).createLoginLink();
  const facts = {
    url,
    link: link.url,
    pid: process.pid,
    data_dir: dataDir,
    isolation,
    credentials: config.credentials,
    pids,
  };
  output.result({ type: 'ready', ...facts }, [
    `engram ready at ${link.url}`,
    `isolation: ${isolation}`,
    ...(config.credentials === 'none' ? [NO_CREDENTIALS] : []),
  ]);
}

async function toPlan({ config, main, output, dataDir, token }: UpRun): Promise<SupervisorPlan> {
  const runDir = await openRunDir(dataDir);
  const log = createFileLog(dataDir, 'up', config.logLevel);
  const { logLevel, workspaceRoots, holdMs } = config;
  const { tracing } = config;
  const common = { dataDir, runDir, logLevel, workspaceRoots, holdMs, ...(tracing === undefined ? {} : { tracing }) };
  return {
    main,
    dataDir,
    runDir,
    ...(config.databaseUrl === undefined ? {} : { databaseUrl: config.databaseUrl }),
    serve: {
      ...common,
      kind: 'serve',
      host: config.host,
      port: config.port,
      token,
      ...(config.metricsToken === undefined ? {} : { metricsToken: config.metricsToken }),
      ...(config.publicUrl === undefined ? {} : { publicUrl: config.publicUrl }),
    },
    host: {
      ...common,
      kind: 'host',
      ...(config.claudeBin === undefined ? {} : { claudeBin: config.claudeBin }),
      path: config.path,
      agentEnvironment: config.agentEnvironment,
      ownEnvironment: config.ownEnvironment,
      credentials: config.credentials,
      idleMs: config.idleMs,
      backgroundMs: config.backgroundMs,
      slots: config.slots,
      ...(config.store === undefined ? {} : { store: config.store }),
    },
    env: config.ownEnvironment,
    log,
    onNote: (text) => output.note(text),
    endOrphans: async () => {
      await endLeftovers(dataDir, log);
    },
  };
}
