// Runs one claimed session: the shell around runner-core. It owns the session's sandbox, harness
// process, attach socket and relay, performs the core's effects one after another, and feeds back
// what happened. It decides nothing about the session's life itself.

import { randomBytes } from 'node:crypto';
import type { Claim, HostDesk } from '@engram/coordinator';
import { assertNever, type HarnessAssignment, type HarnessAttach } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { type AttachServer, openAttachServer } from './attach-server.js';
import type { ClaudeBinary } from './claude-binary.js';
import { within } from './deadline.js';
import { createFileKeeper } from './file-keeper.js';
import type { HarnessLink } from './harness-link.js';
import type { HarnessPool, HarnessProcess } from './harness-pool.js';
import { createFacts, isHoldable } from './idle-rule.js';
import { createLeaseRelease } from './lease-release.js';
import { endRecordedAgent } from './process-records.js';
import {
  canMakeRoom,
  createRunnerState,
  nextTimerAt,
  type Outcome,
  type RunnerEffect,
  type RunnerInput,
  type RunnerPolicy,
  type RunnerState,
  stepRunner,
} from './runner-core.js';
import type { RunningSandbox, Sandbox } from './sandbox.js';
import { createSessionFeed, type SessionFeed } from './session-feed.js';
import type { SessionFiles } from './session-files.js';
import { type OpenSockets, prepareSession } from './session-preparation.js';

export interface SessionRunnerOptions {
  readonly claim: Claim;
  readonly hostId: string;
  readonly desk: HostDesk;
  readonly sandbox: Sandbox;
  readonly files: SessionFiles;
  readonly pool: HarnessPool;
  readonly dataDir: string;
  readonly runDir: string;
  readonly holdMs: number;
  readonly policy: RunnerPolicy;
  readonly credentials: 'environment' | 'none';
  readonly resolveClaude: () => Promise<ClaudeBinary>;
  readonly log: Logger;
}

export interface SessionRunner {
  readonly sessionId: string;
  readonly epoch: number;
  /** Resolves when no process of the session is left and the lease is given up or gone. */
  readonly ended: Promise<Outcome>;
  /** The log holds something new for this session. */
  changed(): void;
  leaseLost(): void;
  drain(): void;
  /** Since when the session only waits for its soft time-out; undefined when it is busy. */
  idleSince(): number | undefined;
  makeRoom(): void;
  /** Its slot will be free soon. */
  isLeaving(): boolean;
  isRunOpen(): boolean;
  close(): void;
}

const DESK_PATIENCE_MS = 2_000;
const AGENT_GRACE_MS = 1_000;

export function startSessionRunner(options: SessionRunnerOptions): SessionRunner {
  const { claim, desk, policy } = options;
  const { epoch, session } = claim;
  const sessionId = session.id;
  const log = options.log.child({ sessionId, epoch });
  const aborted = new AbortController();
  const claimedAt = Date.now();
  /** An answer wakes this session: its first harness need not attach to know. */
  let answered = session.awaiting.find((question) => question.state === 'sent')?.tool_call_id;

  let state: RunnerState = createRunnerState(
    createFacts({ running: session.running, waiting: session.awaiting.map((q) => q.tool_call_id), now: Date.now() }),
  );
  let effects: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let sandbox: RunningSandbox | undefined;
  let sockets: OpenSockets | undefined;
  let claudePath = '';
  let server: AttachServer | undefined;
  let harness: HarnessProcess | undefined;
  let resolveEnded: (outcome: Outcome) => void = () => undefined;
  const ended = new Promise<Outcome>((resolve) => {
    resolveEnded = resolve;
  });

  const feed: SessionFeed = createSessionFeed({
    desk,
    sessionId,
    epoch,
    holdMs: options.holdMs,
    agentHome: () => sandbox?.agentHome,
    stateDir: () => sandbox?.stateDir,
    log,
    tell,
    takesCommands: () => state.status === 'attached',
    mayHold: (toolCallId) => isHoldable(state.facts, toolCallId),
  });

  const keeper = createFileKeeper({
    files: options.files,
    desk,
    log,
    what: () => sandbox && { sessionId, epoch, workspace: session.workspace, workspacePath: sandbox.workspace },
    isClosing: () => state.closing,
  });

  const { until, rest, release } = createLeaseRelease({
    desk,
    sessionId,
    epoch,
    keeper,
    storeSandbox: async () => sandbox?.store(),
    isClosing: () => state.closing,
    tell,
    log,
  });

  function tell(input: RunnerInput): void {
    const before = state;
    const { state: after, effects: orders } = stepRunner(before, input, Date.now(), policy);
    state = after;
    if (input.type === 'command_sent' || after.facts.runOpen) keeper.disturb();
    if (after.status !== before.status) {
      log.info({ from: before.status, to: after.status, by: input.type }, 'session moved on');
    }
    for (const effect of orders) {
      if (effect.type === 'let_go') aborted.abort();
      effects = effects
        .then(() => perform(effect))
        .catch((error: unknown) => {
          log.error({ err: error, effect: effect.type }, 'session step failed');
          if (effect.type === 'start_harness') tell({ type: 'harness_exited' });
        });
    }
    arm();
    if (after.status === 'ended' && before.status !== 'ended') finish(after.outcome);
  }

  function arm(): void {
    clearTimeout(timer);
    const at = nextTimerAt(state, policy);
    if (at !== undefined) timer = setTimeout(() => tell({ type: 'timer' }), Math.max(0, at - Date.now()));
  }

  async function perform(effect: RunnerEffect): Promise<void> {
    switch (effect.type) {
      case 'start_harness':
        return startHarness();
      case 'evict':
        await within(DESK_PATIENCE_MS, desk.setStatus(sessionId, epoch, 'evicting')).catch((error: unknown) =>
          log.warn({ err: error }, 'evicting could not be stored'),
        );
        feed.send({ type: 'shutdown', grace_secs: policy.graceSecs });
        return;
      case 'send_shutdown':
        feed.send({ type: 'shutdown', grace_secs: policy.graceSecs });
        return;
      case 'kill_harness':
        log.warn('harness did not do as it was told in time, killing it');
        return harness?.end(0);
      case 'fail_answers':
        for (const toolCallId of effect.toolCallIds) {
          log.warn({ toolCallId }, 'answer was not taken by the agent');
          await until(() =>
            desk.appendHostEvent(sessionId, epoch, {
              type: 'answer_failed',
              tool_call_id: toolCallId,
              code: 'not_delivered',
              message: 'The agent was woken but did not take the answer. Send it again to retry.',
            }),
          );
        }
        return;
      case 'checkpoint':
        return keeper.checkpoint();
      case 'rest':
        return rest();
      case 'fail':
        log.error({ code: effect.code }, 'session failed');
        await endProcesses(AGENT_GRACE_MS);
        await until(() =>
          desk.appendHostEvent(sessionId, epoch, { type: 'session_error', code: effect.code, message: effect.message }),
        );
        return release('failed');
      case 'let_go':
        feed.close();
        await preparing;
        await endProcesses(AGENT_GRACE_MS);
        if (effect.why === 'deleted') {
          await options.sandbox.remove(sessionId);
          await until(() => desk.confirmDeleted(options.hostId, sessionId));
        }
        tell({ type: 'let_go' });
        return;
      default:
        return assertNever(effect);
    }
  }

  async function prepare(): Promise<void> {
    const result = await prepareSession(options, aborted.signal).catch((error: unknown) => {
      log.error({ err: error }, 'session could not be prepared');
      const message = error instanceof Error ? error.message : 'unknown reason';
      return { ok: false, code: 'host_error', message: `This host could not prepare the session: ${message}` } as const;
    });
    if (!result.ok) {
      tell({ type: 'prepare_failed', code: result.code, message: result.message });
      return;
    }
    ({ sandbox, sockets, claudePath } = result);
    tell({ type: 'prepared' });
  }

  async function startHarness(): Promise<void> {
    if (sandbox === undefined || sockets === undefined) throw new Error('the session is not prepared');
    await server?.close();
    const secret = randomBytes(32).toString('hex');
    const started = options.pool.take();
    harness = started;
    void started.exited.then((exit) => onHarnessExit(started, exit));
    // An agent that starts ahead needs the processor more than an attach that it does not wait for.
    if (answered === undefined) feed.prefetch();
    try {
      server = await openAttachServer({ path: sockets.attach, expected: { sessionId, epoch, secret }, log, onAttach });
      await started.assign(toAssignment(sandbox, sockets, secret));
      log.info({ pid: started.pid }, 'harness has the session');
    } catch (error) {
      log.error({ err: error, pid: started.pid }, 'harness could not be given the session');
      await started.end(0);
    }
  }

  function toAssignment(box: RunningSandbox, { attach, hook, dir }: OpenSockets, secret: string): HarnessAssignment {
    return {
      session_id: sessionId,
      epoch,
      socket_path: attach,
      secret,
      workspace: box.workspace,
      agent_home: box.agentHome,
      state_dir: box.stateDir,
      run_dir: dir,
      claude_bin: claudePath,
      ...(session.model === undefined ? {} : { model: session.model }),
      hook_socket: hook,
      launch: box.launch,
      hold_ms: options.holdMs,
      ...ahead(),
    };
  }

  function ahead(): Pick<HarnessAssignment, 'ahead'> {
    const toolCallId = answered;
    answered = undefined;
    return toolCallId === undefined ? {} : { ahead: { tool_call_id: toolCallId, hold_ms: policy.attachMs } };
  }

  function onAttach(link: HarnessLink, attach: HarnessAttach): void {
    log.info(
      {
        harnessVersion: attach.harness_version,
        lastEventSeq: attach.last_event_seq,
        sinceClaimMs: Date.now() - claimedAt,
      },
      'harness attached',
    );
    feed.attach(link);
  }

  async function onHarnessExit(gone: HarnessProcess, exit: { code?: number; signal?: string }): Promise<void> {
    if (gone !== harness) return;
    log.info({ pid: gone.pid, ...exit }, 'harness ended');
    // What it sent before it went is still on its way; then nothing of its agent may be left.
    await feed.settle();
    await endAgent(AGENT_GRACE_MS);
    await gone.forget();
    if (gone === harness) harness = undefined;
    tell({ type: 'harness_exited' });
  }

  async function endProcesses(graceMs: number): Promise<void> {
    const last = harness;
    if (last !== undefined) {
      await last.end(graceMs);
      await last.forget();
    }
    await endAgent(graceMs);
  }

  async function endAgent(graceMs: number): Promise<void> {
    await endRecordedAgent(options.dataDir, sessionId, graceMs);
    await sandbox?.stop(graceMs);
  }

  function finish(outcome: Outcome): void {
    clearTimeout(timer);
    feed.close();
    void effects
      .then(async () => {
        await server?.close();
        await sockets?.remove();
      })
      .catch((error: unknown) => log.warn({ err: error }, 'session sockets could not be removed'))
      .then(() => resolveEnded(outcome));
  }

  log.info({ previous: claim.previous }, 'session claimed');
  const preparing = prepare();

  return {
    sessionId,
    epoch,
    ended,
    changed: () => feed.refresh(),
    leaseLost: () => tell({ type: 'lease_lost' }),
    drain: () => tell({ type: 'drain' }),
    idleSince: () => (canMakeRoom(state) ? state.facts.quietSince : undefined),
    makeRoom: () => tell({ type: 'make_room' }),
    isLeaving: () => !['preparing', 'starting', 'attached', 'backing_off'].includes(state.status),
    isRunOpen: () => state.status !== 'ended' && state.facts.runOpen,
    close() {
      if (state.status === 'preparing') aborted.abort();
      tell({ type: 'close' });
    },
  };
}
