// Turns what PostgreSQL printed before it gave up into a typed error that says what to do next.
// Pure: text in, error out.

import { CoordinatorError } from '../coordinator-error.js';

const CAUSES = [
  {
    code: 'disk_full',
    pattern: /No space left on device|could not extend file|disk quota exceeded/i,
    text: 'the disk is full',
    next: 'Free some space and start again; nothing that was accepted is lost.',
  },
  {
    code: 'cluster_in_use',
    pattern: /lock file "postmaster\.pid"|pre-existing shared memory block/i,
    text: 'another PostgreSQL still uses this folder',
    next: 'Stop the other Engram of this data folder, or choose another one with --data-dir.',
  },
  {
    code: 'cluster_version',
    pattern: /incompatible with server|was initialized by PostgreSQL version/i,
    text: 'the cluster was made by another PostgreSQL version',
    next: 'Start the Engram release that made it and take a backup, then restore that with this release.',
  },
  {
    code: 'no_permission',
    pattern: /Permission denied|has wrong ownership|invalid permissions|Operation not permitted|Read-only file system/i,
    text: 'files of the cluster cannot be read or written',
    next: 'Make the data folder writable for the user that starts Engram.',
  },
  {
    code: 'cluster_damaged',
    pattern:
      /could not locate a valid checkpoint|not a valid data directory|invalid (magic number|checkpoint|data)|could not (open|read|find|stat) (file|directory|the database)|PANIC|incorrect checksum|is missing|unrecognized configuration/i,
    text: 'files of the cluster are missing or damaged',
    next: 'Restore a backup, or move the pg folder away to begin with an empty database.',
  },
] as const;

/** `output` is the tail of PostgreSQL's or initdb's own output; it never holds statements or data. */
export function toStartFailure(step: string, clusterDir: string, output: string): CoordinatorError {
  const cause = CAUSES.find(({ pattern }) => pattern.test(output));
  const line = lastTellingLine(output);
  if (cause === undefined) {
    return new CoordinatorError(
      'start_failed',
      `PostgreSQL could not ${step} ${clusterDir}: ${line || 'it said nothing'}. ` +
        'See logs/postgres.log in the data folder, or set DATABASE_URL to a PostgreSQL server.',
    );
  }
  return new CoordinatorError(
    cause.code,
    `PostgreSQL could not ${step} ${clusterDir}: ${cause.text} (${line}). ${cause.next}`,
  );
}

function lastTellingLine(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.filter((line) => /FATAL|PANIC|error:/.test(line));
  const line = telling.at(-1) ?? lines.at(-1) ?? '';
  return line.replace(/^.*?(FATAL|PANIC|error):\s*/, '').slice(0, 300);
}
