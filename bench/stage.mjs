// What the benches of the event log share: a real PostgreSQL with fsync, sessions held by a host
// that is this process, and the public door in a process of its own, as `engram serve` is.

import { fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createCoordinator } from '@engram/coordinator';
import { startTestPostgres } from '@engram/testkit';

export const log = {
  child: () => log,
  info() {},
  warn() {},
  error() {},
  debug() {},
  trace() {},
  fatal() {},
  level: 'silent',
};
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** The same clock in every process of the machine. */
export const nowUs = () => Number(process.hrtime.bigint() / 1000n);

const owner = { id: 'local', name: 'bench' };

export async function openLog() {
  const postgres = await startTestPostgres({ fsync: true });
  const coordinator = await createCoordinator({ connection: postgres.connection, log, leaseMs: 3_600_000 });
  const token = randomBytes(24).toString('hex');
  await coordinator.putToken(createHash('sha256').update(token).digest(), owner);
  await coordinator.heartbeat({
    host_id: 'bench-host',
    name: 'bench',
    version: '0',
    pid: process.pid,
    isolation: 'process',
    slots: 100_000,
    credentials: 'none',
    demo: false,
  });
  return {
    postgres,
    coordinator,
    token,
    /** Sessions with a lease: `{id, epoch, seq, tail}`. */
    async holdSessions(n) {
      for (let i = 0; i < n; i += 1) {
        await coordinator.createSession({ owner, prompt: 'bench', agent: 'claude', workspace: { kind: 'empty' } });
      }
      const claims = await coordinator.claimSessions('bench-host', n);
      return claims.map(({ session, epoch, lastHarnessSeq }) => ({
        id: session.id,
        epoch,
        seq: lastHarnessSeq,
        tail: session.last_event_idx,
      }));
    },
    async close() {
      await coordinator.close();
      await postgres.stop();
    },
  };
}

/** A process of ours that is asked by messages; each question gets one answer, in order. */
export async function startProcess(file, start, execArgv = []) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [], { execArgv, serialization: 'advanced' });
  const waiting = [];
  child.on('message', (answer) => waiting.shift()?.resolve(answer));
  child.on('exit', (code) => {
    for (const each of waiting.splice(0)) each.reject(new Error(`${file} ended with code ${code}`));
  });
  const ask = (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      child.send(question);
    });
  const started = await ask(start);
  return {
    started,
    ask,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.send({ type: 'stop' });
      await ended;
    },
  };
}

/** BENCH_PROFILE=<folder> writes a CPU profile of the server there. */
export function startServer(connection) {
  const folder = process.env.BENCH_PROFILE;
  const profile = folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  return startProcess('./sse-server.mjs', { type: 'start', connection }, ['--expose-gc', ...profile]);
}

export const message = (id, text) => ({
  type: 'agent_message',
  run_id: 'run',
  message_id: id,
  role: 'assistant',
  text,
});

export function everyNth(samples, most) {
  const step = Math.max(1, Math.ceil(samples.length / most));
  return Array.from({ length: Math.floor(samples.length / step) }, (_, i) => samples[i * step]);
}

export const round = (x) => Math.round(x * 100) / 100;
