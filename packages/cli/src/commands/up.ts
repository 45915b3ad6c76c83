// `engram up`: everything on one machine. First what can be refused at once (configuration, data
// folder, a living owner, the port, the named claude), then the supervisor, then the lines for the person.

import { endLeftovers, openRunDir } from '@engram/host-agent';
import { createApiClient } from '../api-client.js';
import { namedClaude } from '../claude-program.js';
import { CliError } from '../cli-error.js';
import type { Config } from '../config.js';
import { openDataFolder, readOrMakeToken } from '../data-folder.js';
import { createFileLog } from '../file-log.js';
import type { Output } from '../output.js';
import { takeOwnerLock } from '../owner-lock.js';
import { checkPort } from '../port-check.js';
import { reachableUrl, removeServerFile, writeServerFile } from '../server-file.js';
import { onStopSignal } from '../stop-signal.js';
import { startAll } from '../supervisor.js';

/** Resolves with the exit code when everything has ended. */
export async function up(config: Config, main: string, output: Output): Promise<number> {
  const stopAsked = onStopSignal();
  for (const name of config.unknownSettings) output.note(`${name} is not a setting of this release; ignored`);
  const dataDir = await openDataFolder(config.dataDir);
  const taken = await takeOwnerLock(dataDir);
  if ('owner' in taken) {
    const { pid, url } = taken.owner;
    const where = url === undefined ? 'it is still starting' : `at ${url}`;
    throw new CliError(
      'already_running',
      `Engram already runs on ${dataDir}: process ${pid}, ${where}.`,
      'open it with `npm run engram -- open`, stop that process first, or choose another --data-dir',
    );
  }
  const { lock } = taken;
  try {
    lock.setUrl(reachableUrl(config.host, config.port));
    if (config.port !== 0) await checkPort(config.host, config.port);
    await namedClaude(config);
    const token = await readOrMakeToken(dataDir);
    const runDir = await openRunDir(dataDir);
    const log = createFileLog(dataDir, 'up', config.logLevel);
    const common = {
      dataDir,
      runDir,
      logLevel: config.logLevel,
      workspaceRoots: config.workspaceRoots,
      holdMs: config.holdMs,
    };
    const running = await startAll(
      {
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
          slots: config.slots,
        },
        env: config.ownEnvironment,
        log,
        onNote: (text) => output.note(text),
        endOrphans: async () => {
          await endLeftovers(dataDir, log);
        },
      },
      stopAsked,
    );
    const url = reachableUrl(config.host, running.port);
    lock.setUrl(url);
    try {
      const { database } = running;
      await writeServerFile(dataDir, { url, pid: process.pid, ...(database === undefined ? {} : { database }) });
      const link = await createApiClient({ url, token }).createLoginLink();
      output.result(
        {
          type: 'ready',
          url,
          link: link.url,
          pid: process.pid,
          data_dir: dataDir,
          isolation: running.isolation,
          credentials: config.credentials,
          pids: running.pids,
        },
        [
          `engram ready at ${link.url}`,
          `isolation: ${running.isolation}`,
          ...(config.credentials === 'none' ? [NO_CREDENTIALS] : []),
        ],
      );
      const ended = await Promise.race([stopAsked.then(() => undefined), running.broken]);
      if (ended === undefined) {
        output.note('stopping …');
        return 0;
      }
      throw new CliError('start_failed', `Engram ends because a part of it did. ${ended}`);
    } finally {
      await removeServerFile(dataDir);
      await running.stop();
    }
  } finally {
    await lock.release();
  }
}

const NO_CREDENTIALS =
  'no model credential found (ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN): the page offers a demo with a scripted model';
