export { describeTarget } from '../open-failure.js';
export { withBackupClient } from './backup-client.js';
export { type DumpSummary, dumpDatabase } from './dump-database.js';
export { type RestoreSummary, restoreDatabase } from './restore-database.js';
