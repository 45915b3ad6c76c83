// From the assignment line to the end of the session: one session per process.

import { pino } from 'pino';
import { parseAssignment } from './assignment-line.js';
import { readConfig } from './config.js';
import { HarnessError } from './harness-error.js';
import { openSession, type SessionEnd } from './session.js';

/** Told to the host by the exit code alone; everything else is in the log and in the session's events. */
export const EXIT_CODES = {
  shutdown: 0,
  bad_assignment: 2,
  stale_epoch: 3,
  failed: 4,
  host_unreachable: 5,
} as const satisfies Record<SessionEnd | 'bad_assignment' | 'failed', number>;

export async function runSession(line: string): Promise<void> {
  const config = readConfig();
  // stdout is a protocol: its one line said that we are ready.
  const root = pino({ level: config.logLevel, base: { pid: process.pid } }, pino.destination({ fd: 2, sync: true }));
  try {
    const assignment = parseAssignment(line);
    const log = root.child({ sessionId: assignment.session_id, epoch: assignment.epoch });
    process.on('uncaughtException', (error) => {
      log.fatal({ err: error }, 'unexpected error');
      process.exit(EXIT_CODES.failed);
    });
    await openSession({ assignment, config, log, onEnd: (end) => process.exit(EXIT_CODES[end]) });
  } catch (error) {
    root.fatal({ err: error }, 'the session cannot be run');
    const bad = error instanceof HarnessError && error.code === 'bad_assignment';
    process.exit(bad ? EXIT_CODES.bad_assignment : EXIT_CODES.failed);
  }
}
