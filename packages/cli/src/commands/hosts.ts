// `engram hosts` and `engram host drain <host>`: the machines that run sessions. Asked of the database
// itself: machines are the affair of whoever runs them, not of every owner with an API token.

import { setTimeout as delay } from 'node:timers/promises';
import { type Coordinator, createCoordinator, type HostRow } from '@engram/coordinator';
import { CliError } from '../cli-error.js';
import type { Config } from '../config.js';
import { createStderrLog } from '../file-log.js';
import type { Output } from '../output.js';
import { readServerFile } from '../server-file.js';
import { safeLine } from '../terminal-text.js';

export async function hosts(config: Config, output: Output): Promise<number> {
  return withDesk(config, async (desk) => {
    const rows = await desk.listHosts();
    output.result({ hosts: rows }, rows.length === 0 ? ['no host yet'] : toTable(rows));
    return 0;
  });
}

export interface DrainOptions {
  readonly undo?: boolean;
  readonly wait?: boolean;
}

const LOOK_MS = 500;

export async function drain(config: Config, output: Output, which: string, options: DrainOptions): Promise<number> {
  return withDesk(config, async (desk) => {
    const { host_id, name } = findHost(await desk.listHosts(), which);
    const draining = options.undo !== true;
    await desk.drainHost(host_id, draining);
    let row = await readHost(desk, host_id);
    while (draining && options.wait === true && row.alive && row.sessions > 0) {
      await delay(LOOK_MS);
      row = await readHost(desk, host_id);
    }
    const held = row.alive ? row.sessions : 0;
    output.result({ host_id, draining, sessions: held, files_only_here: row.files_only_here }, [
      draining
        ? `${safeLine(name, 60)} takes no more sessions; ${held} awake there now`
        : `${safeLine(name, 60)} takes sessions again`,
    ]);
    if (draining && row.files_only_here > 0 && row.store_id === undefined) {
      output.note(
        `the files of ${row.files_only_here} sessions are on that host only: they wait for it. With ENGRAM_STORE on all hosts they would not`,
      );
    }
    return 0;
  });
}

async function readHost(desk: Coordinator, hostId: string): Promise<HostRow> {
  return findHost(await desk.listHosts(), hostId);
}

/** By id, the beginning of one, or a name that only one host has. */
function findHost(rows: readonly HostRow[], which: string): HostRow {
  const exact = rows.filter((row) => row.host_id === which);
  const found = exact.length > 0 ? exact : rows.filter((row) => row.host_id.startsWith(which) || row.name === which);
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  const known = rows.map((row) => `${row.host_id} (${safeLine(row.name, 60)})`).join(', ');
  throw new CliError(
    'bad_config',
    only === undefined
      ? `There is no host "${safeLine(which, 80)}".`
      : `"${safeLine(which, 80)}" is more than one host.`,
    known === '' ? 'start one with `engram host`' : `name one of: ${known}`,
  );
}

function toTable(rows: readonly HostRow[]): readonly string[] {
  const cells = rows.map((row) => [
    row.host_id,
    safeLine(row.name, 30),
    stateOf(row),
    `${row.alive ? row.sessions : 0}/${row.slots}`,
    row.memory === undefined ? '-' : `${toGib(row.memory.free_bytes)}/${toGib(row.memory.total_bytes)}`,
    String(row.files_only_here),
    row.store_id === undefined ? 'none' : row.store_id.slice(0, 8),
    row.isolation,
    row.version,
    row.claude_version ?? '-',
    row.seen_at,
  ]);
  const all = [
    [
      'HOST',
      'NAME',
      'STATE',
      'AWAKE',
      'MEMORY FREE',
      'FILES ONLY HERE',
      'STORE',
      'ISOLATION',
      'VERSION',
      'AGENT',
      'SEEN',
    ],
    ...cells,
  ];
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  return all.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function stateOf(row: HostRow): string {
  if (!row.alive) return 'gone';
  return row.draining ? 'draining' : 'ready';
}

function toGib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)}G`;
}

async function withDesk<T>(config: Config, work: (desk: Coordinator) => Promise<T>): Promise<T> {
  const connection = config.databaseUrl ?? (await readServerFile(config.dataDir))?.database;
  if (connection === undefined) {
    throw new CliError(
      'not_running',
      `No Engram runs on ${config.dataDir}.`,
      'start it with `npm start`, or set DATABASE_URL to the database that the hosts share',
    );
  }
  const desk = await createCoordinator({ connection, log: createStderrLog('hosts', 'error') });
  try {
    return await work(desk);
  } finally {
    await desk.close();
  }
}
