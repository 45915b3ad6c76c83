// Keeps this host known and its leases alive, and claims sessions that have work while slots are
// free. It decides nothing about a session: it hands claims out and says which leases are lost.
//
// A hint from the database starts a claim at once; a poll is the floor under lost hints.

import type { Claim, HostDesk, HostInfo } from '@engram/coordinator';
import type { Logger } from 'pino';

/** What one claim gives at most when there are other hosts. */
const PORTION = 2;

export interface LeaseKeeperOptions {
  readonly desk: HostDesk;
  readonly hostId: string;
  info(): HostInfo;
  readonly renewMs: number;
  readonly pollMs: number;
  readonly log: Logger;
  /** Every session this host holds now. */
  held(): readonly { sessionId: string; epoch: number }[];
  /** Free slots; 0 while nothing can be taken. */
  freeSlots(): number;
  onClaim(claim: Claim): void;
  onLost(sessionId: string): void;
  onSessionChanged(sessionId: string): void;
  /** Work may wait although no slot is free. */
  onCrowded(): void;
  /** Told on every renewal, also when nothing changed. */
  onDraining(draining: boolean): void;
  /** After each renewal. Not waited for: renewals must not be held up by housekeeping. */
  onBeat(): void;
}

export interface LeaseKeeper {
  /** Looks for claimable sessions now. */
  claimSoon(): void;
  /** No new sessions from here on; leases are still renewed. */
  stopClaiming(): void;
  close(): Promise<void>;
}

export async function startLeaseKeeper(options: LeaseKeeperOptions): Promise<LeaseKeeper> {
  const { desk, hostId, log } = options;
  let claiming = true;
  let closed = false;
  let draining = false;
  let troubled = false;
  let claimRun: Promise<void> | undefined;
  let claimAgain = false;
  let pollTimer: NodeJS.Timeout | undefined;
  let beatRun: Promise<void> | undefined;

  async function claim(): Promise<void> {
    while (claiming && !closed && !draining) {
      const limit = options.freeSlots();
      if (limit <= 0) {
        options.onCrowded();
        return;
      }
      const claims = await desk.claimSessions(hostId, limit);
      for (const each of claims) options.onClaim(each);
      // With other hosts about, the database gives work in portions.
      if (claims.length < Math.min(limit, PORTION)) return;
    }
  }

  function claimSoon(): void {
    if (closed || !claiming) return;
    if (claimRun !== undefined) {
      claimAgain = true;
      return;
    }
    claimRun = watched(claim).finally(() => {
      claimRun = undefined;
      pollLater();
      if (!claimAgain) return;
      claimAgain = false;
      claimSoon();
    });
  }

  /** So long after the last look, whatever started that: an agent that is just starting is left in peace. */
  function pollLater(): void {
    clearTimeout(pollTimer);
    if (claiming && !closed) pollTimer = setTimeout(claimSoon, options.pollMs);
  }

  async function beat(): Promise<void> {
    const answer = await desk.heartbeat(options.info());
    if (answer.draining !== draining) log.info({ draining: answer.draining }, 'draining changed');
    draining = answer.draining;
    options.onDraining(draining);
    const held = options.held();
    if (held.length > 0) {
      const { lost } = await desk.renewLeases(hostId, held);
      for (const sessionId of lost) options.onLost(sessionId);
    }
    options.onBeat();
  }

  /** Database trouble is logged once when it begins and once when it is over. */
  async function watched(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      if (troubled) log.info('the database answers again');
      troubled = false;
    } catch (error) {
      if (!troubled && !closed) log.error({ err: error }, 'the database does not answer, trying again');
      troubled = true;
    }
  }

  // The first heartbeat may fail the start: nobody should believe that this host works.
  draining = (await desk.heartbeat(options.info())).draining;
  options.onDraining(draining);
  const unwatch = desk.watchHost(hostId, {
    onClaimable: claimSoon,
    onSessionChanged: (sessionId) => options.onSessionChanged(sessionId),
  });
  const renewTimer = setInterval(() => {
    if (beatRun !== undefined) return;
    beatRun = watched(beat).finally(() => {
      beatRun = undefined;
    });
  }, options.renewMs);
  claimSoon();

  return {
    claimSoon,
    stopClaiming() {
      claiming = false;
      clearTimeout(pollTimer);
    },
    async close() {
      closed = true;
      claiming = false;
      clearInterval(renewTimer);
      clearTimeout(pollTimer);
      unwatch();
      await Promise.all([claimRun, beatRun]);
    },
  };
}
