// A PostgreSQL that outlived its Engram still holds the folder. The caller owns the data folder
// (its lock says so), so whatever PostgreSQL works in it is an orphan: it is asked to stop, or,
// when it is dying already, waited for. A pid file that names a stranger is put aside.

import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { CoordinatorError, errorCode } from '../coordinator-error.js';
import { readPidFile } from './postmaster.js';
import { isAlive, postgresProcessesIn, processStartedAt } from './process-facts.js';

const DYING_MS = 10_000;
const FORCED_MS = 3_000;
const POLL_MS = 20;
/** A postmaster writes its own start time a moment after the kernel's. */
const START_TOLERANCE_S = 10;

/** `clusterDir` is a real path. When it returns, nothing works in the cluster any more. */
export async function endOrphans(clusterDir: string, log: Logger): Promise<void> {
  const [pidLine, , startLine] = await readPidFile(clusterDir);
  const pid = pidLine === undefined ? undefined : Number(pidLine);
  const left = await postgresProcessesIn(clusterDir, pid);
  if (left.length > 0) {
    const orphan = pid !== undefined && left.includes(pid) && (await startedAround(pid, Number(startLine)));
    log.warn({ pid, processes: left.length, orphan }, 'a PostgreSQL of this folder is still there: ending it');
    if (orphan) signal(pid, 'SIGINT');
    await waitOrForce(clusterDir, pid, log);
  }
  // PostgreSQL takes over the file of a dead process by itself, but not that of a living stranger.
  if (pid !== undefined && isAlive(pid)) {
    log.warn({ pid }, 'postmaster.pid names another process: removing it');
    await unlink(join(clusterDir, 'postmaster.pid')).catch((error: unknown) => {
      if (errorCode(error) !== 'ENOENT') throw error;
    });
  }
}

async function waitOrForce(clusterDir: string, pid: number | undefined, log: Logger): Promise<void> {
  if (await gone(clusterDir, pid, DYING_MS)) return;
  for (const name of ['SIGQUIT', 'SIGKILL'] as const) {
    const left = await postgresProcessesIn(clusterDir, pid);
    log.warn({ processes: left.length, signal: name }, 'the PostgreSQL of this folder does not end');
    for (const each of left) signal(each, name);
    if (await gone(clusterDir, pid, FORCED_MS)) return;
  }
  throw new CoordinatorError(
    'cluster_in_use',
    `A PostgreSQL of ${clusterDir} (pid ${pid ?? 'unknown'}) does not end, not even when killed. End it, then start again.`,
  );
}

async function gone(clusterDir: string, pid: number | undefined, ms: number): Promise<boolean> {
  const until = Date.now() + ms;
  while (Date.now() < until) {
    if ((await postgresProcessesIn(clusterDir, pid)).length === 0) return true;
    await delay(POLL_MS);
  }
  return false;
}

async function startedAround(pid: number, expected: number): Promise<boolean> {
  const started = await processStartedAt(pid);
  return started !== undefined && Math.abs(started - expected) <= START_TOLERANCE_S;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
