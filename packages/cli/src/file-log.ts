// Logs: JSON lines by pino, in <data folder>/logs for `up`, on stderr for its children (whose stderr
// `up` has tied to such a file). Fixed sentences and fields, never contents.

import { join } from 'node:path';
import { destination, type Logger, pino } from 'pino';
import type { LogLevel } from './config.js';

export function createFileLog(dataDir: string, name: string, level: LogLevel): Logger {
  return pino(
    { level, base: { name } },
    destination({ dest: join(dataDir, 'logs', `${name}.log`), mkdir: true, sync: true, mode: 0o600 }),
  );
}

export function createStderrLog(name: string, level: LogLevel): Logger {
  return pino({ level, base: { name } }, destination({ dest: 2, sync: true }));
}
