// Gives a session's lease up once its harness is gone: stores the files, then says in one transaction
// what the session is now. What the database answers decides how the session's life goes on.

import type { HostDesk } from '@engram/coordinator';
import { assertNever } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { pause } from './deadline.js';
import type { FileKeeper } from './file-keeper.js';
import type { RunnerInput } from './runner-core.js';

export interface LeaseReleaseOptions {
  readonly desk: Pick<HostDesk, 'releaseLease'>;
  readonly sessionId: string;
  readonly epoch: number;
  readonly keeper: Pick<FileKeeper, 'rest'>;
  storeSandbox(): Promise<void>;
  /** The host goes away. */
  isClosing(): boolean;
  tell(input: RunnerInput): void;
  readonly log: Logger;
}

export interface LeaseRelease {
  /** Tries until the database answers; a closing host does not wait for it for ever. */
  until<T>(work: () => Promise<T>): Promise<T | undefined>;
  rest(): Promise<void>;
  release(to: 'idle' | 'failed'): Promise<void>;
}

const RELEASE_RETRY_MS = 500;
const CLOSING_RELEASE_MS = 4_000;

export function createLeaseRelease(options: LeaseReleaseOptions): LeaseRelease {
  const { desk, sessionId, epoch, keeper, tell, log } = options;

  async function until<T>(work: () => Promise<T>): Promise<T | undefined> {
    const startedAt = Date.now();
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (attempt === 0) log.warn({ err: error }, 'the database did not take it, trying again');
        if (options.isClosing() && Date.now() - startedAt > CLOSING_RELEASE_MS) return undefined;
        await pause(RELEASE_RETRY_MS);
      }
    }
  }

  async function rest(): Promise<void> {
    await until(options.storeSandbox);
    const outcome = await until(() => keeper.rest());
    switch (outcome) {
      case 'stored':
        return release('idle');
      case 'work_waiting':
        return tell({ type: 'work_waiting' });
      case 'kept_here':
        return leaveToOthers();
      case 'stale_epoch':
      case undefined:
        return tell({ type: 'release_refused' });
      default:
        return assertNever(outcome);
    }
  }

  async function release(to: 'idle' | 'failed'): Promise<void> {
    const outcome = await until(() => desk.releaseLease(sessionId, epoch, to));
    if (outcome === undefined) tell({ type: 'release_refused' });
    else if (outcome.ok) tell({ type: to === 'idle' ? 'rested' : 'failure_stored' });
    else if (outcome.reason !== 'work_waiting') tell({ type: 'release_refused' });
    // Nobody has to wait for the lease to run out: the next host, or this one started again, goes on.
    else if (options.isClosing()) await leaveToOthers();
    else tell({ type: 'work_waiting' });
  }

  async function leaveToOthers(): Promise<void> {
    const outcome = await until(() => desk.releaseLease(sessionId, epoch, 'host_lost'));
    tell({ type: outcome?.ok === true ? 'work_waiting' : 'release_refused' });
  }

  return { until, rest, release };
}
