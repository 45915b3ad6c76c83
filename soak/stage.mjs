// The whole stack under test, and what can be done to it: `engram up` on one data folder and one port,
// ended in many ways and started again at once. Knows processes, not sessions' contents.

import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEngram, waitFor } from '@engram/testkit';

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Longer than a harness takes to start on a busy machine. A question does not wait for it. */
const IDLE_MS = 6_000;
export const HOLD_MS = 2_500;
const EXIT_MS = 30_000;

/** `onProblem(kind, detail)` hears of what the stack itself does wrong: a start that fails, a process that stays. */
export async function openStage({ claude, model, onProblem, env = {} }) {
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'engram-soak-')));
  let port = 0;
  let engram = await start().catch(async (error) => {
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  });
  port = engram.port;
  let down = false;
  const outages = new Set();

  async function start() {
    return startEngram({
      dataDir,
      port,
      model,
      idleMs: IDLE_MS,
      env: {
        ENGRAM_CLAUDE_BIN: claude,
        ENGRAM_HOLD_MS: String(HOLD_MS),
        NODE_OPTIONS: `--import=${new URL('./cut-links.mjs', import.meta.url)}`,
        ...env,
      },
    });
  }

  async function startAgain(after) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        engram = await start();
        return;
      } catch (error) {
        onProblem('start', `after ${after}: ${error instanceof Error ? error.message.slice(0, 600) : String(error)}`);
        if (attempt === 3) throw error;
        await pause(2_000);
      }
    }
  }

  const kill = (pid, signal = 'SIGKILL') => {
    try {
      process.kill(pid, signal);
      return true;
    } catch {
      return false;
    }
  };
  const pidsOf = (kind) =>
    engram
      .processTable()
      .filter((row) => row.kind === kind)
      .map((row) => row.pid);

  async function ended(after) {
    const gone = await Promise.race([engram.exited, pause(EXIT_MS).then(() => undefined)]);
    if (gone !== undefined) return gone;
    onProblem('stays', `after ${after} \`up\` was still there ${EXIT_MS} ms later`);
    await engram.killAll();
    return undefined;
  }

  async function outage(what, end) {
    down = true;
    for (const wake of outages) wake();
    await end();
    await startAgain(what);
    down = false;
  }

  async function stall(pids, ms) {
    const stopped = pids.filter((pid) => kill(pid, 'SIGSTOP'));
    await pause(ms);
    for (const pid of stopped) kill(pid, 'SIGCONT');
    return stopped.length;
  }

  return {
    dataDir,
    get engram() {
      return engram;
    },
    get url() {
      return engram.url;
    },
    get token() {
      return engram.token;
    },
    isDown: () => down,
    /** Calls back once when the stack goes down; gives the function that stops listening. */
    onDown(callback) {
      const once = () => {
        outages.delete(once);
        callback();
      };
      outages.add(once);
      return () => outages.delete(once);
    },

    async fault({ what, target, stallMs, times, gapMs }) {
      switch (what) {
        case 'serve':
        case 'host':
        case 'postgres':
          return outage(what, async () => {
            for (const pid of what === 'postgres' ? [engram.pids.postgres] : [engram.pids[what]]) kill(pid);
            const exit = await ended(what);
            if (exit?.code === 0) onProblem('exit', `\`up\` ended with 0 although ${what} was killed`);
          });
        case 'up':
          return outage(what, async () => {
            kill(engram.pids.up);
            await ended(what);
          });
        case 'all':
          return outage(what, () => engram.killAll());
        case 'stop':
          return outage(what, async () => {
            kill(engram.pids.up, 'SIGTERM');
            const exit = await ended(what);
            if (exit !== undefined && exit.code !== 0)
              onProblem('exit', `a stop that was asked for ended with ${exit.code}`);
            const left = engram.processTable();
            if (left.length > 0) onProblem('stays', `after a stop: ${left.map((row) => row.kind).join(', ')}`);
          });
        case 'harnesses':
          for (const pid of pidsOf('harness')) kill(pid);
          return undefined;
        case 'agents':
          for (const pid of pidsOf('agent')) kill(pid);
          return undefined;
        case 'links':
          for (let cut = 0; cut < times; cut += 1) {
            kill(engram.pids.host, 'SIGUSR2');
            await pause(gapMs);
          }
          return undefined;
        case 'stall':
          return void (await stall(target === 'postgres' ? pidsOf('postgres') : [engram.pids[target]], stallMs));
        default:
          throw new Error(`no such fault: ${what}`);
      }
    },

    /** The session's agent, found by its home; its harness, by the host's own record. */
    agentsOf: (sessionId) =>
      engram
        .processTable()
        .filter(({ kind, argv }) => kind === 'agent' || argv[1]?.endsWith('claude-code/cli.js'))
        .map(({ pid }) => pid)
        .filter((pid) => environmentOf(pid).includes(`/sessions/${sessionId}/`)),
    harnessesOf(sessionId) {
      const folder = join(dataDir, 'harnesses');
      const alive = new Set(pidsOf('harness'));
      return readdirSync(folder).flatMap((name) => {
        const pid = Number.parseInt(name, 10);
        const record = readOr(join(folder, name));
        return alive.has(pid) && record.includes(sessionId) ? [pid] : [];
      });
    },
    kill,
    stall,

    logOf: async (name, sessionId) => {
      const text = await readFile(join(dataDir, 'logs', name), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => sessionId === undefined || line.includes(sessionId));
    },

    async close(keep) {
      await engram.stop();
      const left = engram.processTable();
      if (left.length > 0) onProblem('stays', `at the end: ${left.map((row) => `${row.kind} ${row.pid}`).join(', ')}`);
      for (const row of left) kill(row.pid);
      if (left.length > 0) await waitFor(() => engram.processTable().length === 0, 5_000, 'what stayed to be gone');
      if (!keep) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function environmentOf(pid) {
  return readOr(`/proc/${pid}/environ`);
}

function readOr(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
