// `engram up`: everything on one machine. Here is what can be refused at once: configuration, data
// folder, a living owner, the port, the named claude. What is heavy to load or start comes after that.

import { refuseBrokenClaude } from '../claude-program.js';
import { CliError } from '../cli-error.js';
import type { Config } from '../config.js';
import { openDataFolder, readOrMakeToken } from '../data-folder.js';
import { refuseMovedDatabase } from '../moved-database.js';
import type { Output } from '../output.js';
import { takeOwnerLock } from '../owner-lock.js';
import { checkPort } from '../port-check.js';
import { reachableUrl } from '../server-file.js';
import { onStopSignal } from '../stop-signal.js';

/** Resolves with the exit code when everything has ended. */
export async function up(config: Config, main: string, output: Output): Promise<number> {
  const stopAsked = onStopSignal();
  for (const name of config.unknownSettings) output.note(`${name} is not a setting of this release; ignored`);
  const dataDir = await openDataFolder(config.dataDir);
  const taken = await takeOwnerLock(dataDir);
  if ('owner' in taken) {
    const { pid, url } = taken.owner;
    const where = url === undefined ? 'still starting' : `at ${url}`;
    throw new CliError(
      'already_running',
      `Engram already runs on ${dataDir}: process ${pid}, ${where}.`,
      'open it with `npm run engram -- open`, stop that process first, or choose another --data-dir',
    );
  }
  const { lock } = taken;
  try {
    if (config.databaseUrl === undefined) await refuseMovedDatabase(dataDir);
    if (config.port !== 0) {
      lock.setUrl(reachableUrl(config.host, config.port));
      await checkPort(config.host, config.port);
    }
    await refuseBrokenClaude(config, output.note);
    const token = await readOrMakeToken(dataDir, config.apiToken);
    const { runEverything } = await import('../run-everything.js');
    return await runEverything({ config, main, output, dataDir, token, stopAsked, onUrl: lock.setUrl });
  } finally {
    await lock.release();
  }
}
