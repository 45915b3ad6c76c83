// A machine that runs sessions: puts the parts together and owns their life. Starting ends what an
// earlier life left behind before anything is claimed; closing puts every session to rest.

import { realpath } from 'node:fs/promises';
import type { Claim, HostDesk, HostInfo } from '@engram/coordinator';
import { assertNever } from '@engram/harness-proto';
import type { Logger } from 'pino';
import type { ClaudeBinary } from './claude-binary.js';
import { pause, within } from './deadline.js';
import { freeSlots, readMemory } from './free-memory.js';
import { createHarnessPool } from './harness-pool.js';
import { openHostId } from './host-identity.js';
import { type LeaseKeeper, startLeaseKeeper } from './lease-keeper.js';
import { endOrphans } from './orphans.js';
import { createProcessSandbox } from './process-sandbox.js';
import type { RunnerPolicy } from './runner-core.js';
import type { Sandbox, SandboxTraits } from './sandbox.js';
import { createSessionFiles } from './session-files.js';
import { removeLeftFolders } from './session-folder.js';
import { type SessionRunner, startSessionRunner } from './session-runner.js';
import { openPrivateDir, openRunDir } from './socket-path.js';
import type { FileStore } from './store/file-store.js';

export interface HostAgentTimings {
  /** Heartbeat and lease renewal. */
  readonly renewMs: number;
  /** Floor under lost hints. */
  readonly pollMs: number;
  readonly refillDelayMs: number;
  readonly policy: Partial<RunnerPolicy>;
}

export interface HostAgentOptions {
  readonly coordinator: HostDesk;
  readonly dataDir: string;
  /** Short 0700 folder for sockets; by default the data folder's own below the temp folder. */
  readonly runDir?: string;
  readonly log: Logger;
  /** By default the one kept in the data folder. */
  readonly hostId?: string;
  readonly name: string;
  readonly version: string;
  /** How many sessions may be awake at once. */
  readonly slots: number;
  readonly idleMs?: number;
  /** How long a background task of the agent keeps its session awake at most. */
  readonly backgroundMs?: number;
  readonly holdMs?: number;
  /** argv that starts a harness waiting for its assignment on stdin. */
  readonly harnessCommand: readonly string[];
  readonly resolveClaude: () => Promise<ClaudeBinary>;
  /** What harnesses get beside PATH and language; agents do not see it. */
  readonly harnessEnvironment?: Readonly<Record<string, string>>;
  /** The agent's listed environment, PATH and credentials included. */
  readonly agentEnvironment: Readonly<Record<string, string>>;
  readonly credentials: 'environment' | 'none';
  readonly demoModelUrl?: string;
  readonly poolSize?: number;
  readonly workspaceRoots: readonly string[];
  /** Where sleeping sessions' files are kept, for hosts that share sessions. */
  readonly store?: FileStore;
  readonly isolation?: 'process';
  /** For cloning alone. */
  readonly gitEnvironment?: Readonly<Record<string, string>>;
  readonly cloneTimeoutMs?: number;
  readonly timings?: Partial<HostAgentTimings>;
}

export interface HostAgent {
  readonly info: HostInfo;
  readonly sandbox: SandboxTraits;
  /** Sessions awake here now. */
  sessions(): readonly string[];
  /** `drain` first lets open runs end; without it they are interrupted. Gone within 10 s either way after that. */
  close(options?: { readonly drain?: boolean }): Promise<void>;
}

const IDLE_MS = 30_000;
const BACKGROUND_MS = 15 * 60_000;
const HOLD_MS = 120_000;
const CLOSE_MS = 10_000;
/** Files on their way into a store are worth waiting for. */
const STORE_CLOSE_MS = 20_000;
const DESK_MS = 2_000;
const TIDY_MS = 10 * 60_000;
const DRAIN_STEP_MS = 100;

function createPolicy(options: HostAgentOptions): RunnerPolicy {
  return {
    idleMs: options.idleMs ?? IDLE_MS,
    backgroundMs: options.backgroundMs ?? BACKGROUND_MS,
    silentMs: 30_000,
    unprovenMs: 120_000,
    attachMs: 30_000,
    graceSecs: 5,
    killAfterMs: 7_000,
    backOffMs: [0, 500, 2_000, 5_000],
    stableMs: 120_000,
    ...options.timings?.policy,
  };
}

function createSandbox(options: HostAgentOptions, dataDir: string): Sandbox {
  const isolation = options.isolation ?? 'process';
  switch (isolation) {
    case 'process':
      return createProcessSandbox({
        dataDir,
        agentEnvironment: options.agentEnvironment,
        ...(options.demoModelUrl === undefined ? {} : { demoModelUrl: options.demoModelUrl }),
        workspace: {
          roots: options.workspaceRoots,
          cloneTimeoutMs: options.cloneTimeoutMs ?? 120_000,
          gitEnvironment: options.gitEnvironment ?? {},
        },
        log: options.log,
      });
    default:
      return assertNever(isolation);
  }
}

export async function startHostAgent(options: HostAgentOptions): Promise<HostAgent> {
  const { coordinator: desk, log } = options;
  const dataDir = await realpath(options.dataDir);
  const runDir = options.runDir ?? (await openRunDir(dataDir));
  await openPrivateDir(runDir);
  const hostId = options.hostId ?? (await openHostId(dataDir));
  const sandbox = createSandbox(options, dataDir);
  await endOrphans({ dataDir, sandbox, log });
  await removeLeftFolders(dataDir);
  const files = createSessionFiles({ store: options.store, desk, dataDir, log });

  const policy = createPolicy(options);
  const pool = createHarnessPool({
    command: options.harnessCommand,
    environment: { ...harnessEnvironment(options.agentEnvironment), ...options.harnessEnvironment },
    dataDir,
    size: options.poolSize ?? 2,
    refillDelayMs: options.timings?.refillDelayMs ?? 2_500,
    log,
  });
  const runners = new Map<string, SessionRunner>();
  let claudeVersion: string | undefined;
  let draining = false;
  let cleaning = false;
  let tidyAt = 0;
  let keeper: LeaseKeeper | undefined;

  const info = (): HostInfo => ({
    host_id: hostId,
    name: options.name,
    version: options.version,
    pid: process.pid,
    isolation: sandbox.traits.isolation,
    slots: options.slots,
    credentials: options.credentials,
    demo: options.demoModelUrl !== undefined,
    memory: readMemory(),
    ...(files.storeId === undefined ? {} : { store_id: files.storeId }),
    ...(claudeVersion === undefined ? {} : { claude_version: claudeVersion }),
  });
  void options.resolveClaude().then(
    (claude) => {
      if (claude.ok) claudeVersion = claude.version;
      else log.warn({ code: claude.code }, 'the agent program is not available');
    },
    (error: unknown) => log.error({ err: error }, 'the agent program could not be looked for'),
  );

  function run(claim: Claim): void {
    const runner = startSessionRunner({
      claim,
      hostId,
      desk,
      sandbox,
      files,
      pool,
      dataDir,
      runDir,
      holdMs: options.holdMs ?? HOLD_MS,
      policy,
      credentials: options.credentials,
      resolveClaude: options.resolveClaude,
      log,
    });
    runners.set(runner.sessionId, runner);
    if (draining) runner.drain();
    void runner.ended.then((outcome) => {
      log.info({ sessionId: runner.sessionId, epoch: runner.epoch, outcome }, 'session left this host');
      runners.delete(runner.sessionId);
      keeper?.claimSoon();
    });
  }

  /** One process of a session at a time: a new claim waits until the one before is over. */
  function onClaim(claim: Claim): void {
    const before = runners.get(claim.session.id);
    if (before === undefined) {
      run(claim);
      return;
    }
    before.leaseLost();
    void before.ended.then(() => run(claim));
  }

  async function removeDeleted(): Promise<void> {
    for (const sessionId of await desk.deletedSessions(hostId)) {
      const runner = runners.get(sessionId);
      if (runner !== undefined) {
        runner.changed();
        continue;
      }
      await sandbox.remove(sessionId);
      await desk.confirmDeleted(hostId, sessionId);
      log.info({ sessionId }, 'removed the files of a deleted session');
    }
    await files.removeDeleted();
    if (Date.now() < tidyAt) return;
    tidyAt = Date.now() + TIDY_MS;
    for (const sessionId of await desk.staleCopies(hostId)) {
      if (runners.has(sessionId)) continue;
      await files.dropCopy(sessionId);
      await desk.forgetCopy(hostId, sessionId);
      log.info({ sessionId }, 'removed an old copy of a session that went on elsewhere');
    }
    log.debug(await desk.tidy(), 'removed rows that nobody asks for any more');
  }

  function cleanUp(): void {
    if (cleaning) return;
    cleaning = true;
    void removeDeleted()
      .catch((error: unknown) => log.warn({ err: error }, 'files of deleted sessions are still here'))
      .finally(() => {
        cleaning = false;
      });
  }

  keeper = await startLeaseKeeper({
    desk,
    hostId,
    info,
    renewMs: options.timings?.renewMs ?? 5_000,
    pollMs: options.timings?.pollMs ?? 1_000,
    log,
    held: () => [...runners.values()].map(({ sessionId, epoch }) => ({ sessionId, epoch })),
    freeSlots: () => freeSlots(options.slots, runners.size, readMemory()),
    onClaim,
    onLost: (sessionId) => runners.get(sessionId)?.leaseLost(),
    onSessionChanged(sessionId) {
      const runner = runners.get(sessionId);
      if (runner !== undefined) return runner.changed();
      keeper?.claimSoon();
      cleanUp();
    },
    onCrowded() {
      const open = [...runners.values()];
      if (!open.some((runner) => runner.isLeaving())) longestIdle(open)?.makeRoom();
    },
    onDraining(next) {
      if (next && !draining) for (const runner of runners.values()) runner.drain();
      draining = next;
    },
    onBeat() {
      for (const runner of runners.values()) runner.changed();
      cleanUp();
    },
  }).catch(async (error: unknown) => {
    await pool.close();
    throw error;
  });
  log.info({ hostId, isolation: sandbox.traits.isolation, slots: options.slots }, 'host is ready');

  async function close({ drain = false }: { readonly drain?: boolean } = {}): Promise<void> {
    log.info({ sessions: runners.size, drain }, 'host is closing');
    keeper?.stopClaiming();
    if (drain) {
      for (const runner of runners.values()) runner.drain();
      while (!hurry && [...runners.values()].some((runner) => runner.isRunOpen())) await pause(DRAIN_STEP_MS);
    }
    const open = [...runners.values()];
    for (const runner of open) runner.close();
    await within(
      files.storeId === undefined ? CLOSE_MS : STORE_CLOSE_MS,
      Promise.all([pool.close(), ...open.map((runner) => runner.ended)]),
    ).catch(() => log.error({ sessions: [...runners.keys()] }, 'not every session came to rest in time'));
    const leave = async (): Promise<void> => {
      await keeper?.close();
      await desk.leaveHost(hostId);
    };
    await within(DESK_MS, leave()).catch(() => log.warn('the database does not answer'));
    log.info('host is closed');
  }

  let closing: Promise<void> | undefined;
  let hurry = false;
  return {
    get info() {
      return info();
    },
    sandbox: sandbox.traits,
    sessions: () => [...runners.keys()],
    close(closeOptions) {
      // Asked again without `drain`: somebody does not want to wait any longer.
      if (closeOptions?.drain !== true) hurry = true;
      closing ??= close(closeOptions);
      return closing;
    },
  };
}

function longestIdle(runners: Iterable<SessionRunner>): SessionRunner | undefined {
  let longest: { runner: SessionRunner; since: number } | undefined;
  for (const runner of runners) {
    const since = runner.idleSince();
    if (since !== undefined && (longest === undefined || since < longest.since)) longest = { runner, since };
  }
  return longest?.runner;
}

/** The harness needs to find programs and a language; credentials are the agent's alone. */
function harnessEnvironment(agentEnvironment: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const names = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = agentEnvironment[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
