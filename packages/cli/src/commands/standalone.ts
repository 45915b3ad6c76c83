// `engram serve` and `engram host` on many machines: the same two programs, sharing nothing but the
// database that DATABASE_URL names.

import { openRunDir } from '@engram/host-agent';
import { namedClaude } from '../claude-program.js';
import { CliError } from '../cli-error.js';
import type { Config } from '../config.js';
import { openDataFolder, readOrMakeToken } from '../data-folder.js';
import { createStderrLog } from '../file-log.js';
import type { Output } from '../output.js';
import { checkPort } from '../port-check.js';
import { reachableUrl } from '../server-file.js';
import { onStopSignal } from '../stop-signal.js';

function requireDatabase(config: Config): string {
  if (config.databaseUrl !== undefined) return config.databaseUrl;
  throw new CliError(
    'bad_config',
    'This command needs DATABASE_URL, the PostgreSQL that servers and hosts share.',
    'set DATABASE_URL=postgres://…, or use `engram up`, which brings its own',
  );
}

export async function serve(config: Config, output: Output): Promise<number> {
  const stopAsked = onStopSignal();
  const database = requireDatabase(config);
  const dataDir = await openDataFolder(config.dataDir);
  if (config.port !== 0) await checkPort(config.host, config.port);
  const { startServe } = await import('../serve-process.js');
  const started = await startServe(
    {
      kind: 'serve',
      database,
      dataDir,
      runDir: await openRunDir(dataDir),
      logLevel: config.logLevel,
      host: config.host,
      port: config.port,
      token: await readOrMakeToken(dataDir),
      workspaceRoots: config.workspaceRoots,
      holdMs: config.holdMs,
      ...(config.metricsToken === undefined ? {} : { metricsToken: config.metricsToken }),
    },
    createStderrLog('serve', config.logLevel),
  );
  const url = reachableUrl(config.host, started.port);
  output.result({ type: 'serving', url }, [`engram serves at ${url}`]);
  await stopAsked;
  await started.close();
  return 0;
}

export async function host(config: Config, output: Output): Promise<number> {
  const stopAsked = onStopSignal();
  const database = requireDatabase(config);
  const dataDir = await openDataFolder(config.dataDir);
  await namedClaude(config);
  const { startHost } = await import('../host-process.js');
  const started = await startHost(
    {
      kind: 'host',
      database,
      dataDir,
      runDir: await openRunDir(dataDir),
      logLevel: config.logLevel,
      ...(config.claudeBin === undefined ? {} : { claudeBin: config.claudeBin }),
      path: config.path,
      agentEnvironment: config.agentEnvironment,
      ownEnvironment: config.ownEnvironment,
      workspaceRoots: config.workspaceRoots,
      credentials: config.credentials,
      idleMs: config.idleMs,
      holdMs: config.holdMs,
      slots: config.slots,
    },
    createStderrLog('host', config.logLevel),
    (text) => output.note(text),
  );
  const { isolation, statement } = started.agent.sandbox;
  output.result({ type: 'hosting', isolation }, ['engram hosts sessions', `isolation: ${isolation} — ${statement}`]);
  await stopAsked;
  await started.close();
  return 0;
}
