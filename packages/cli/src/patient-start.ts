// A start on a database that may not be there yet: machines of a cluster start in any order. What passes by
// itself is waited for, what a person must mend ends the start at once.

import { setTimeout as delay } from 'node:timers/promises';
import { createCoordinator, mayPass } from '@engram/coordinator';
import type { Logger } from 'pino';
import { explainError } from './cli-error.js';
import type { Config } from './config.js';
import type { Output } from './output.js';

const STEP_MS = 500;

/** Undefined when a stop was asked for meanwhile. Throws what the last try threw. */
export async function startPatiently<T>(
  start: () => Promise<T>,
  waitMs: number,
  output: Output,
  stopAsked: Promise<unknown>,
): Promise<T | undefined> {
  const until = Date.now() + waitMs;
  let stopped = false;
  void stopAsked.then(() => {
    stopped = true;
  });
  for (let told = false; ; told = true) {
    try {
      return await start();
    } catch (error) {
      if (stopped) return undefined;
      if (!mayPass(error) || Date.now() + STEP_MS > until) throw error;
      if (!told) output.note(`${explainError(error)} Trying on for ${Math.round(waitMs / 1000)} s.`);
      await Promise.race([delay(STEP_MS), stopAsked]);
      if (stopped) return undefined;
    }
  }
}

/** For `engram up` on a server; false when a stop was asked for meanwhile. */
export async function waitForDatabase(
  config: Config,
  connection: string,
  log: Logger,
  output: Output,
  stopAsked: Promise<unknown>,
): Promise<boolean> {
  const open = async (): Promise<true> => {
    await (await createCoordinator({ connection, log, poolSize: 1 })).close();
    return true;
  };
  return (await startPatiently(open, config.databaseWaitMs, output, stopAsked)) === true;
}
