// `engram token create <name>`: an API token for a further owner, who sees only what is theirs. Written
// straight to the database, since no HTTP call may make owners.

import { createHash, randomBytes } from 'node:crypto';
import { createCoordinator } from '@engram/coordinator';
import { CliError } from '../cli-error.js';
import type { Config } from '../config.js';
import { createStderrLog } from '../file-log.js';
import type { Output } from '../output.js';
import { readServerFile } from '../server-file.js';

export async function createToken(config: Config, output: Output, name: string): Promise<number> {
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u.test(name)) {
    throw new CliError(
      'bad_config',
      `"${name}" cannot be an owner's name.`,
      'use up to 64 letters, digits, spaces, dots, dashes',
    );
  }
  const id = name.toLowerCase().replace(/\s+/g, '-');
  if (id === 'local') throw new CliError('bad_config', '"local" is the owner of this machine and has a token already.');
  const connection = config.databaseUrl ?? (await readServerFile(config.dataDir))?.database;
  if (connection === undefined) {
    throw new CliError(
      'not_running',
      `No Engram runs on ${config.dataDir}.`,
      'start it with `npm start`, or set DATABASE_URL',
    );
  }
  const coordinator = await createCoordinator({ connection, log: createStderrLog('token', 'error') });
  try {
    const token = `engram_${randomBytes(32).toString('base64url')}`;
    await coordinator.putToken(createHash('sha256').update(token).digest(), { id, name });
    output.result({ token, owner: { id, name } }, [token]);
    output.note(`this is shown once; it acts for the owner "${name}" and sees only that owner's sessions`);
    return 0;
  } finally {
    await coordinator.close();
  }
}
