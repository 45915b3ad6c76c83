// `<data folder>/server.json` (0600): where the running server and its database are, for the other commands of
// this machine. It says what was true at the start; a client finds out whether it still is.

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PostgresConnection } from '@engram/coordinator';
import { writePrivateFile } from './data-folder.js';

export interface ServerFile {
  readonly url: string;
  readonly pid: number;
  readonly database?: PostgresConnection;
}

export async function writeServerFile(dataDir: string, server: ServerFile): Promise<void> {
  await writePrivateFile(join(dataDir, 'server.json'), `${JSON.stringify(server)}\n`);
}

export async function removeServerFile(dataDir: string): Promise<void> {
  await rm(join(dataDir, 'server.json'), { force: true });
}

export async function readServerFile(dataDir: string): Promise<ServerFile | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(join(dataDir, 'server.json'), 'utf8'));
    if (typeof value !== 'object' || value === null || !('url' in value) || !('pid' in value)) return undefined;
    const { url, pid } = value;
    if (typeof url !== 'string' || typeof pid !== 'number') return undefined;
    const database = 'database' in value && isConnection(value.database) ? value.database : undefined;
    return { url, pid, ...(database === undefined ? {} : { database }) };
  } catch {
    return undefined;
  }
}

function isConnection(value: unknown): value is PostgresConnection {
  return typeof value === 'object' && value !== null && 'host' in value && 'port' in value && 'password' in value;
}

/** Where a browser or a client of this machine reaches a server bound to `host`. */
export function reachableUrl(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return host.includes(':') ? `http://[${host}]:${port}` : `http://${host}:${port}`;
}
