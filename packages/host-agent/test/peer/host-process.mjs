// A host agent in a process of its own, for tests that kill it: options as one JSON line on stdin.
import { createInterface } from 'node:readline';
import { createCoordinator } from '@engram/coordinator';
import { pino } from 'pino';
import { openStore, startHostAgent } from '../../dist/index.js';

const lines = createInterface({ input: process.stdin });
const { value } = await lines[Symbol.asyncIterator]().next();
const { connection, claude, storeAddress, ...options } = JSON.parse(value);
const log = pino({ level: 'warn' }, pino.destination(2));
const coordinator = await createCoordinator({ connection, log, leaseMs: 3_000 });
await startHostAgent({
  ...options,
  coordinator,
  log,
  ...(storeAddress === undefined ? {} : { store: await openStore({ address: storeAddress }, log) }),
  resolveClaude: () => Promise.resolve({ ok: true, path: claude }),
});
process.stdout.write('up\n');
