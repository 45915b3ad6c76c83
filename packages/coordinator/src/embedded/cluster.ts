// Makes the cluster of a data folder, once, and the role and database the service uses in it.
// Every step may be cut off and run again: the cluster is made beside its place and renamed into
// it, passwords are written before they are used, the role is made or mended at each start.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client, DatabaseError } from 'pg';
import { CoordinatorError, errorCode } from '../coordinator-error.js';
import type { PostgresBinaries } from './postgres-binaries.js';
import { toStartFailure } from './start-failure.js';
import { giveTo, type Launch, toCommand } from './unprivileged-launch.js';

const run = promisify(execFile);

export const SERVICE_ROLE = 'engram';
export const SERVICE_DATABASE = 'engram';
const SUPERUSER = 'postgres';

/** What `pg` needs to connect; `host` is the folder of the unix socket. */
export interface PostgresConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export interface Passwords {
  readonly service: string;
  readonly superuser: string;
}

export async function readOrMakePasswords(dataDir: string, clusterExists: boolean): Promise<Passwords> {
  const superuserFile = join(dataDir, 'pg-superuser-password');
  const superuser = await readSecret(superuserFile);
  if (superuser === undefined && clusterExists) {
    throw new CoordinatorError(
      'password_lost',
      `${superuserFile} is missing, so the cluster beside it cannot be opened. Restore the file, or restore a backup.`,
    );
  }
  return {
    superuser: superuser ?? (await makeSecret(superuserFile)),
    service: (await readSecret(join(dataDir, 'pg-password'))) ?? (await makeSecret(join(dataDir, 'pg-password'))),
  };
}

export async function clusterExists(clusterDir: string): Promise<boolean> {
  if (await present(join(clusterDir, 'PG_VERSION'))) return true;
  if (!(await present(clusterDir))) return false;
  throw new CoordinatorError(
    'cluster_damaged',
    `${clusterDir} exists but holds no PostgreSQL cluster. Restore a backup, or move the folder away to begin with an empty database.`,
  );
}

export async function initCluster(
  binaries: PostgresBinaries,
  launch: Launch,
  clusterDir: string,
  passwords: Passwords,
): Promise<void> {
  const making = `${clusterDir}.making`;
  await rm(making, { recursive: true, force: true });
  await mkdir(making, { mode: 0o700 });
  const passwordFile = join(dirname(clusterDir), 'pg-init-password');
  await writeSecret(passwordFile, passwords.superuser);
  try {
    await giveTo(launch, making);
    await giveTo(launch, passwordFile);
    const command = toCommand(launch, binaries.initdb, [
      `--pgdata=${making}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--data-checksums',
      '--no-instructions',
    ]);
    await run(command.file, [...command.args], {
      ...command.ids,
      cwd: '/',
      env: { LC_ALL: 'C', TZ: 'UTC', ...binaries.env },
    });
    await rename(making, clusterDir);
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
    throw toStartFailure('make a cluster in', clusterDir, output);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/** Makes sure that the service's role and database are there, and gives the way to connect as it. */
export async function prepareServiceRole(socketDir: string, passwords: Passwords): Promise<PostgresConnection> {
  const service: PostgresConnection = {
    host: socketDir,
    port: 5432,
    user: SERVICE_ROLE,
    password: passwords.service,
    database: SERVICE_DATABASE,
  };
  if (await canConnect(service)) return service;
  const admin = new Client({ ...service, user: SUPERUSER, password: passwords.superuser, database: 'postgres' });
  await admin.connect();
  try {
    const role = await admin.query('select 1 from pg_roles where rolname = $1', [SERVICE_ROLE]);
    const verb = role.rowCount === 0 ? 'create' : 'alter';
    const password = admin.escapeLiteral(passwords.service);
    await admin.query(
      `${verb} role ${SERVICE_ROLE} with login nosuperuser nocreatedb nocreaterole password ${password}`,
    );
    const database = await admin.query('select 1 from pg_database where datname = $1', [SERVICE_DATABASE]);
    if (database.rowCount === 0) await admin.query(`create database ${SERVICE_DATABASE} owner ${SERVICE_ROLE}`);
  } finally {
    await admin.end();
  }
  return service;
}

/** False when role, password or database are not there (yet); everything else throws. */
async function canConnect(connection: PostgresConnection): Promise<boolean> {
  const client = new Client(connection);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && ['28P01', '28000', '3D000'].includes(error.code ?? '')) return false;
    throw error;
  }
}

async function present(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

async function readSecret(path: string): Promise<string | undefined> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return text === '' ? undefined : text;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function makeSecret(path: string): Promise<string> {
  const secret = randomBytes(24).toString('base64url');
  await writeSecret(path, secret);
  return secret;
}

/** Written beside, synced and renamed: a power cut leaves the whole secret or none. */
async function writeSecret(path: string, secret: string): Promise<void> {
  const making = `${path}.making`;
  await rm(making, { force: true });
  const file = await open(making, 'wx', 0o600);
  try {
    await file.writeFile(secret);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(making, path);
}
