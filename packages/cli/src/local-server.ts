// How the client commands find the server of this machine: the data folder names it and holds the token.

import type { ApiClient } from './api-client.js';
import { createApiClient } from './api-client.js';
import { CliError } from './cli-error.js';
import type { Config } from './config.js';
import { readToken } from './data-folder.js';
import { readServerFile } from './server-file.js';

export async function openLocalServer(config: Config): Promise<ApiClient> {
  const server = await readServerFile(config.dataDir);
  const token = await readToken(config.dataDir);
  if (server === undefined || token === undefined) {
    throw new CliError(
      'not_running',
      `No Engram runs on ${config.dataDir}.`,
      'start it with `npm start`, or name its data folder with --data-dir',
    );
  }
  return createApiClient({ url: server.url, token });
}
