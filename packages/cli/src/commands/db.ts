// `engram db backup | restore | move`: the database as a file, a file as a database, and from the data
// folder's own PostgreSQL to a server. What a backup does not hold is said each time.

import { resolve } from 'node:path';
import {
  type DumpSummary,
  describeTarget,
  dumpDatabase,
  restoreDatabase,
  withBackupClient,
} from '@engram/coordinator/backup';
import { readBackupFile, writeBackupFile } from '../backup-file.js';
import { CliError } from '../cli-error.js';
import type { Config } from '../config.js';
import { withAnyDatabase, withStoppedFolder } from '../database-access.js';
import { createStderrLog } from '../file-log.js';
import { readVersion } from '../installation.js';
import { markMoved } from '../moved-database.js';
import type { Output } from '../output.js';

/** What lives beside the database in a data folder. */
const NOT_IN_BACKUP = [
  'sessions/ (workspaces, agent homes and transcripts)',
  'host.json (which host this is: sessions in a local folder wait for it)',
  'token (the API token; a new folder makes a new one, tokens of the database stay valid)',
  'pg-password, pg-superuser-password (of the old PostgreSQL only)',
  'logs/',
] as const;

export async function backup(config: Config, output: Output, file: string): Promise<number> {
  const log = createStderrLog('db', 'warn');
  const path = resolve(config.cwd, file);
  const done = await withAnyDatabase(config, log, ({ connection, running }) =>
    withBackupClient(connection, log, async (client) => {
      const dump = keepSummary(dumpDatabase(client, readVersion()));
      const bytes = await writeBackupFile(path, dump);
      return { ...dump.summary(), bytes, running };
    }),
  );
  const { rows, skipped, bytes, running } = done;
  output.result(
    { type: 'backup', file: path, bytes, rows, skipped, while_running: running, not_included: NOT_IN_BACKUP },
    [
      `backup written to ${path} (${bytes} bytes)`,
      `holds: ${toCounts(rows)}`,
      'does not hold, of the data folder:',
      ...NOT_IN_BACKUP.map((entry) => `  ${entry}`),
    ],
  );
  if (skipped.length > 0) output.note(`left out, since not Engram’s: ${skipped.join(', ')}`);
  return 0;
}

export async function restore(config: Config, output: Output, file: string): Promise<number> {
  const log = createStderrLog('db', 'warn');
  const path = resolve(config.cwd, file);
  const into = config.databaseUrl;
  const summary =
    into === undefined
      ? await withStoppedFolder(config, log, 'may be made', (connection) =>
          restoreDatabase(connection, readBackupFile(path), log),
        )
      : await restoreDatabase(into, readBackupFile(path), log);
  const target = into === undefined ? config.dataDir : describeTarget(into);
  output.result(
    {
      type: 'restored',
      file: path,
      into: target,
      made_at: summary.madeAt,
      made_by: summary.madeBy,
      rows: summary.rows,
    },
    [
      `restored into ${target}: ${toCounts(summary.rows)}`,
      `the backup was made on ${summary.madeAt} by release ${summary.madeBy}`,
    ],
  );
  output.note(
    'copy sessions/ and host.json of the old data folder into the new one before the start, if you have them',
  );
  return 0;
}

export async function move(config: Config, output: Output, url: string | undefined): Promise<number> {
  const log = createStderrLog('db', 'warn');
  const target = url ?? config.databaseUrl;
  if (target === undefined) {
    throw new CliError(
      'bad_config',
      'Where to is not said.',
      'name the server: engram db move postgres://…, or set DATABASE_URL',
    );
  }
  if (!/^postgres(ql)?:\/\//.test(target)) {
    throw new CliError('bad_config', 'The server must begin with postgres:// or postgresql://.', 'correct the URL');
  }
  const to = describeTarget(target);
  const rows = await withStoppedFolder(config, log, 'must exist', (own, dataDir) =>
    withBackupClient(own, log, async (client) => {
      const done = await restoreDatabase(target, dumpDatabase(client, readVersion()), log);
      await markMoved(dataDir, to);
      return done.rows;
    }),
  );
  output.result({ type: 'moved', from: config.dataDir, to, rows }, [
    `moved to ${to}: ${toCounts(rows)}`,
    'start Engram with DATABASE_URL set to it, and the same data folder: the sessions’ files stay there',
    `the old database stays in ${config.dataDir}/pg; remove it when you have seen that all is well`,
  ]);
  return 0;
}

function toCounts(rows: Readonly<Record<string, number>>): string {
  const some = ['sessions', 'events', 'questions', 'outbox'].flatMap((table) => {
    const count = rows[table];
    return count === undefined ? [] : [`${count} ${table}`];
  });
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0);
  return `${some.join(', ')} (${all} rows in ${Object.keys(rows).length} tables)`;
}

/** The bytes of a dump, and what they held once they are through. */
function keepSummary(dump: AsyncGenerator<Buffer, DumpSummary>): AsyncIterable<Buffer> & { summary(): DumpSummary } {
  let summary: DumpSummary | undefined;
  async function* pass(): AsyncGenerator<Buffer> {
    summary = yield* dump;
  }
  const bytes = pass();
  return {
    [Symbol.asyncIterator]: () => bytes,
    summary() {
      if (summary === undefined) throw new Error('the dump has not ended');
      return summary;
    },
  };
}
