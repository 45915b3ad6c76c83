// Puts the coordinator together: the database, the group commit, the live side, and one function
// for each thing that is asked of it. No decision is made here.

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Coordinator, HostDesk, SessionDesk } from './coordinator.js';
import { CoordinatorError } from './coordinator-error.js';
import { type ConnectionSource, type Db, openDatabase, type Prepared } from './database.js';
import { toCoordinatorError } from './database-errors.js';
import { acceptAnswer } from './desk/accept-answer.js';
import { acceptPrompt } from './desk/accept-prompt.js';
import { putAttachment, readAttachment } from './desk/attachments.js';
import { createSession } from './desk/create-session.js';
import { confirmDeleted, deletedSessions, deleteSession } from './desk/delete-session.js';
import { attendQuestion, dismissQuestion } from './desk/dismiss-question.js';
import { dequeuePrompt, editPrompt } from './desk/edit-prompt.js';
import { readFigures } from './desk/figures.js';
import { listPendingQuestions, listSessions } from './desk/list-sessions.js';
import * as owners from './desk/owners.js';
import { readEventTexts } from './desk/read-event-texts.js';
import { readEvents, readEventsBefore } from './desk/read-events.js';
import { renameSession } from './desk/rename-session.js';
import { interrupt, sleep, wake } from './desk/steer-session.js';
import { attachFacts, commandsAfter, sessionWishes } from './host/attach-facts.js';
import { createGroupCommit, type GroupCommit } from './host/group-commit.js';
import { drainHost, heartbeat, leaveHost, listHosts } from './host/hosts.js';
import { claimSessions, hasWork, LEASE_MS, releaseLease, renewLeases, setStatus } from './host/leases.js';
import {
  commitFiles,
  confirmDeletedInStore,
  deletedInStore,
  forgetCopy,
  keepFilesHere,
  staleCopies,
} from './host/session-files.js';
import { tidy } from './host/tidy.js';
import { type ChunkPublisher, createChunkPublisher } from './live/chunks.js';
import { createListener } from './live/listener.js';
import { createNotifier, EVENTS_CHANNEL, type HintChannel, WORK_CHANNEL } from './live/notifier.js';
import { createHostWatch, type HostWatch } from './live/watch-hosts.js';
import { createSessionWatch, type SessionWatch } from './live/watch-sessions.js';
import { migrate } from './migrate.js';
import { explainOpenFailure } from './open-failure.js';
import { readSession } from './session-view.js';

export interface CoordinatorOptions {
  /** `postgres://…`, or what `startEmbeddedPostgres` gives. */
  readonly connection: ConnectionSource;
  readonly log: Logger;
  /** How often watchers look when no hint comes. Default one second. */
  readonly pollMs?: number;
  /** Connections at most, beside the one that listens. Default 10. */
  readonly poolSize?: number;
  /** Default fifteen seconds. */
  readonly leaseMs?: number;
  /** How long an append is tried again while the database is away. Default one minute. */
  readonly retryMs?: number;
}

const READY_TIMEOUT_MS = 2_000;

/** Opens the database, brings its schema up to date and gives both desks on it. */
export async function createCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const { log, pollMs = 1_000 } = options;
  const database = openDatabase(options.connection, options.poolSize ?? 10, log);
  const { db, prepared } = database;
  try {
    await migrate(db, log);
  } catch (error) {
    await database.close();
    throw explainOpenFailure(options.connection, error);
  }
  const notifier = createNotifier(prepared, log);
  const listener = createListener(options.connection, log);
  const sessionWatch = createSessionWatch(prepared, listener, pollMs, log);
  const hostWatch = createHostWatch(db, listener, pollMs, log);
  const chunks = createChunkPublisher(db, log);
  const commits = createGroupCommit({
    db,
    prepared,
    log,
    onStored: () => notifier.hint(EVENTS_CHANNEL),
    retryMs: options.retryMs ?? 60_000,
  });

  /** Every call goes through here: what the database throws becomes this package's error, what it stored is announced. */
  async function ask<T>(work: Promise<T>, ...hints: readonly HintChannel[]): Promise<T> {
    try {
      const result = await work;
      if (hints.length > 0) notifier.hint(...hints);
      return result;
    } catch (error) {
      throw toCoordinatorError(error);
    }
  }

  let closing: Promise<void> | undefined;
  async function close(): Promise<void> {
    await commits.close();
    await chunks.close();
    await Promise.all([sessionWatch.close(), hostWatch.close()]);
    await listener.close();
    await notifier.settled();
    await database.close();
  }

  return {
    ...toSessionDesk({ db, prepared, ask, sessionWatch }),
    ...toHostDesk({
      db,
      ask,
      hint: (channel) => notifier.hint(channel),
      commits,
      chunks,
      hostWatch,
      leaseMs: options.leaseMs ?? LEASE_MS,
    }),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

type Ask = <T>(work: Promise<T>, ...hints: readonly HintChannel[]) => Promise<T>;

function toSessionDesk(deps: { db: Db; prepared: Prepared; ask: Ask; sessionWatch: SessionWatch }): SessionDesk {
  const { db, prepared, ask, sessionWatch } = deps;
  const both = [EVENTS_CHANNEL, WORK_CHANNEL] as const;
  return {
    async createSession(input) {
      const { id } = await ask(createSession(db, input), ...both);
      const session = await ask(readSession(db, id));
      if (session === undefined) throw new CoordinatorError('unavailable', 'the session was deleted while it was made');
      return session;
    },
    getSession: (id) => ask(readSession(db, id)),
    listSessions: (query) => ask(listSessions(db, query)),
    renameSession: (id, title) => ask(renameSession(db, id, title)),
    deleteSession: (id) => ask(deleteSession(db, id), ...both),
    acceptPrompt: (id, prompt) => ask(acceptPrompt(db, id, prompt), ...both),
    putAttachment: (id, bytes) => ask(putAttachment(db, id, bytes)),
    readAttachment: (id, attachmentId) => ask(readAttachment(db, id, attachmentId)),
    editPrompt: (id, promptId, text) => ask(editPrompt(db, id, promptId, text), ...both),
    dequeuePrompt: (id, promptId) => ask(dequeuePrompt(db, id, promptId), ...both),
    // Its statement hints by itself.
    acceptAnswer: (id, answer) => ask(acceptAnswer(db, id, answer)),
    dismissQuestion: (id, dismissal) => ask(dismissQuestion(db, id, dismissal), ...both),
    attendQuestion: (id, toolCallId, holdMs) => ask(attendQuestion(db, id, toolCallId, holdMs), WORK_CHANNEL),
    interrupt: (id, by) => ask(interrupt(db, id, by), ...both),
    sleep: (id) => ask(sleep(db, id), WORK_CHANNEL),
    wake: (id) => ask(wake(db, id), WORK_CHANNEL),
    listPendingQuestions: (query) => ask(listPendingQuestions(db, query)),
    readEvents: (id, since, limit) => ask(readEvents(db, id, since, limit)),
    readEventsBefore: (id, before, limit) => ask(readEventsBefore(db, id, before, limit)),
    readEventTexts: (id, edge, limit) => ask(readEventTexts(prepared, id, edge, limit)),
    watchSession: (id, watcher) => sessionWatch.watch(id, watcher),
    findTokenOwner: (sha256) => ask(owners.findTokenOwner(db, sha256)),
    putToken: (sha256, owner) => ask(owners.putToken(db, sha256, owner)),
    putLoginCode: (sha256, owner, ttlMs) => ask(owners.putLoginCode(db, sha256, owner, ttlMs)),
    takeLoginCode: (sha256) => ask(owners.takeLoginCode(db, sha256)),
    putBrowserSession: (sha256, owner, ttlMs) => ask(owners.putBrowserSession(db, sha256, owner, ttlMs)),
    findBrowserSession: (sha256) => ask(owners.findBrowserSession(db, sha256)),
    listHosts: () => ask(listHosts(db)),
    drainHost: (hostId, draining) => ask(drainHost(db, hostId, draining), WORK_CHANNEL),
    isReady: () => isReady(db),
    figures: () => ask(readFigures(db)),
  };
}

function toHostDesk(deps: {
  db: Db;
  ask: Ask;
  hint(channel: HintChannel): void;
  commits: GroupCommit;
  chunks: ChunkPublisher;
  hostWatch: HostWatch;
  leaseMs: number;
}): HostDesk {
  const { db, ask, hint, commits, chunks, hostWatch, leaseMs } = deps;
  const instance = randomUUID();
  return {
    heartbeat: (host) => ask(heartbeat(db, host, instance, chunks.dropped())),
    async claimSessions(hostId, limit) {
      const { claims, settled } = await ask(claimSessions(db, hostId, limit, leaseMs));
      if (claims.length + settled > 0) hint(EVENTS_CHANNEL);
      return claims;
    },
    renewLeases: (hostId, held) => ask(renewLeases(db, hostId, held, leaseMs)),
    releaseLease: (sessionId, epoch, to) => ask(releaseLease(db, sessionId, epoch, to), EVENTS_CHANNEL, WORK_CHANNEL),
    setStatus: (sessionId, epoch, to) => ask(setStatus(db, sessionId, epoch, to), EVENTS_CHANNEL),
    attachFacts: (sessionId, epoch) => ask(attachFacts(db, sessionId, epoch)),
    commandsAfter: (sessionId, epoch, after) => ask(commandsAfter(db, sessionId, epoch, after)),
    sessionWishes: (sessionId) => ask(sessionWishes(db, sessionId)),
    appendEvents: (sessionId, epoch, events) =>
      commits.append({ sessionId, epoch, incoming: events.map((each) => ({ from: 'harness', ...each })) }),
    appendHostEvent: (sessionId, epoch, event) =>
      commits.append({ sessionId, epoch, incoming: [{ from: 'host', event }] }),
    putAttachment: (sessionId, bytes) => ask(putAttachment(db, sessionId, bytes)),
    readAttachment: (sessionId, attachmentId) => ask(readAttachment(db, sessionId, attachmentId)),
    publishChunk: (sessionId, chunk) => chunks.publish(sessionId, chunk),
    commitFiles: (sessionId, epoch, files) => ask(commitFiles(db, sessionId, epoch, files)),
    keepFilesHere: (sessionId, epoch) => ask(keepFilesHere(db, sessionId, epoch)),
    hasWork: (sessionId) => ask(hasWork(db, sessionId)),
    leaveHost: (hostId) => ask(leaveHost(db, hostId, instance), WORK_CHANNEL),
    staleCopies: (hostId) => ask(staleCopies(db, hostId)),
    forgetCopy: (hostId, sessionId) => ask(forgetCopy(db, hostId, sessionId)),
    tidy: () => ask(tidy(db)),
    deletedInStore: (storeId) => ask(deletedInStore(db, storeId)),
    confirmDeletedInStore: (storeId, sessionId) => ask(confirmDeletedInStore(db, storeId, sessionId)),
    deletedSessions: (hostId) => ask(deletedSessions(db, hostId)),
    confirmDeleted: (hostId, sessionId) => ask(confirmDeleted(db, hostId, sessionId)),
    watchHost: (hostId, watcher) => hostWatch.watch(hostId, watcher),
  };
}

/** A database that does not answer soon, or takes no writes (a standby), is not ready. */
async function isReady(db: Db): Promise<boolean> {
  const asked = sql`select 1 from engram_schema
    where not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' limit 1`
    .execute(db)
    .then(
      ({ rows }) => rows.length > 0,
      () => false,
    );
  return Promise.race([asked, delay(READY_TIMEOUT_MS, false, { ref: false })]);
}
