// `engram serve` and `engram host` on many machines: the same two programs, sharing nothing but the
// database that DATABASE_URL names.

import { setTimeout as delay } from 'node:timers/promises';
import { openRunDir } from '@engram/host-agent';
import { refuseBrokenClaude } from '../claude-program.js';
import { CliError } from '../cli-error.js';
import type { Config } from '../config.js';
import { openDataFolder, readOrMakeToken } from '../data-folder.js';
import { createStderrLog } from '../file-log.js';
import type { HostProcess } from '../host-process.js';
import type { Output } from '../output.js';
import { findOwner, takeOwnerLock } from '../owner-lock.js';
import { startPatiently } from '../patient-start.js';
import { checkPort } from '../port-check.js';
import { reachableUrl, removeServerFile, writeServerFile } from '../server-file.js';
import { onNextSignal, onStopSignal, type StopSignal } from '../stop-signal.js';

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
  const order = {
    kind: 'serve',
    database,
    dataDir,
    runDir: await openRunDir(dataDir),
    logLevel: config.logLevel,
    ...(config.tracing === undefined ? {} : { tracing: config.tracing }),
    host: config.host,
    port: config.port,
    token: await readOrMakeToken(dataDir, config.apiToken),
    workspaceRoots: config.workspaceRoots,
    holdMs: config.holdMs,
    ...(config.metricsToken === undefined ? {} : { metricsToken: config.metricsToken }),
    ...(config.publicUrl === undefined ? {} : { publicUrl: config.publicUrl }),
  } as const;
  const log = createStderrLog('serve', config.logLevel);
  const started = await startPatiently(() => startServe(order, log), config.databaseWaitMs, output, stopAsked);
  if (started === undefined) return 0;
  const url = reachableUrl(config.host, started.port);
  // The client commands find it here, unless the folder has an `engram up` to find.
  const isOurs = (await findOwner(dataDir))?.url === undefined;
  if (isOurs) await writeServerFile(dataDir, { url, pid: process.pid });
  output.result({ type: 'serving', url, pid: process.pid }, [`engram serves at ${url}`]);
  await stopAsked;
  if (isOurs) await removeServerFile(dataDir);
  await started.close();
  return 0;
}

export async function host(config: Config, output: Output): Promise<number> {
  const stopAsked = onStopSignal();
  const database = requireDatabase(config);
  const dataDir = await openDataFolder(config.dataDir);
  const taken = await takeOwnerLock(dataDir);
  if ('owner' in taken) {
    throw new CliError(
      'already_running',
      `A host already runs on ${dataDir}: process ${taken.owner.pid}.`,
      'stop it first, or give this one a --data-dir of its own',
    );
  }
  try {
    await refuseBrokenClaude(config, output.note);
    const { startHost } = await import('../host-process.js');
    const order = {
      kind: 'host',
      database,
      dataDir,
      runDir: await openRunDir(dataDir),
      logLevel: config.logLevel,
      ...(config.tracing === undefined ? {} : { tracing: config.tracing }),
      ...(config.claudeBin === undefined ? {} : { claudeBin: config.claudeBin }),
      path: config.path,
      agentEnvironment: config.agentEnvironment,
      ownEnvironment: config.ownEnvironment,
      workspaceRoots: config.workspaceRoots,
      credentials: config.credentials,
      idleMs: config.idleMs,
      backgroundMs: config.backgroundMs,
      holdMs: config.holdMs,
      slots: config.slots,
      ...(config.store === undefined ? {} : { store: config.store }),
    } as const;
    const log = createStderrLog('host', config.logLevel);
    const start = () => startHost(order, log, (text) => output.note(text));
    const started = await startPatiently(start, config.databaseWaitMs, output, stopAsked);
    if (started === undefined) return 0;
    const { isolation, statement } = started.agent.sandbox;
    output.result({ type: 'hosting', isolation, host_id: started.agent.info.host_id, pid: process.pid }, [
      'engram hosts sessions',
      `isolation: ${isolation} — ${statement}`,
    ]);
    await endGracefully(started, await stopAsked, config.drainMs, output);
    return 0;
  } finally {
    await taken.lock.release();
  }
}

/** A service manager (SIGTERM) gives open runs time to end; a person at the terminal does not want to wait. */
async function endGracefully(started: HostProcess, signal: StopSignal, drainMs: number, output: Output): Promise<void> {
  if (signal !== 'SIGTERM' || drainMs === 0) return started.close();
  const hurry = Promise.race([onNextSignal('SIGINT'), delay(drainMs, undefined, { ref: false })]);
  void hurry.then(() => started.close());
  if (started.agent.sessions().length > 0)
    output.note(`stopping: open runs have ${Math.round(drainMs / 1000)} s to end (Ctrl-C ends them now)`);
  await started.close({ drain: true });
}
