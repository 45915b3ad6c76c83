// The coordinator as its two users see it: `SessionDesk` for the public door (who may was already
// decided), `HostDesk` for a machine that runs sessions. Everything here is backed by PostgreSQL
// alone, so any number of processes may hold a Coordinator on the same database.
//
// Expected outcomes are values; a broken database throws CoordinatorError.

import type {
  AgentMessageChunk,
  Answers,
  HarnessCommand,
  HarnessEvent,
  OpenQuestion,
  Question,
} from '@engram/harness-proto';
import type { Figures } from './desk/figures.js';
import type { PageEdge, TextPage } from './desk/read-event-texts.js';
import type { Actor, Attachment, EventText, SessionStatus, StoredEvent } from './session-events.js';

export type Workspace =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'git'; readonly url: string; readonly ref?: string }
  | { readonly kind: 'empty' };

export type QuestionState = 'waiting' | 'sent' | 'failed';

export interface AwaitingQuestion {
  readonly tool_call_id: string;
  readonly questions: readonly Question[];
  readonly asked_at: string;
  readonly state: QuestionState;
}

export interface UsageTotal {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly cost_micro_usd: number;
}

/** Exactly the public `Session` of the API. */
export interface Session {
  readonly id: string;
  readonly title: string;
  readonly agent: string;
  readonly model?: string;
  readonly status: SessionStatus;
  readonly running: boolean;
  readonly awaiting: readonly AwaitingQuestion[];
  readonly owner: string;
  readonly workspace: Workspace;
  readonly created_at: string;
  readonly updated_at: string;
  readonly last_event_idx: number;
  readonly usage: UsageTotal;
  /** Addition: prompts accepted and not yet running, oldest first, and other commands not yet proven done. */
  readonly undelivered: readonly {
    readonly kind: string;
    readonly id: string;
    readonly text?: string;
    readonly accepted_at: string;
  }[];
}

export interface NewSession {
  readonly owner: Actor;
  readonly title?: string;
  readonly prompt?: string;
  readonly agent: string;
  readonly model?: string;
  readonly workspace: Workspace;
  /** The same key of the same owner within 24 h gives the session made first. */
  readonly idempotencyKey?: string;
}

export interface PendingQuestion {
  readonly session_id: string;
  readonly session_title: string;
  readonly tool_call_id: string;
  readonly questions: readonly Question[];
  readonly asked_at: string;
  readonly state: QuestionState;
}

/** `media_type` is told from the bytes: an image that browsers draw, PDF, `text/plain`, else `application/octet-stream`. */
export interface AttachmentInfo {
  readonly attachment_id: string;
  readonly media_type: string;
  readonly size: number;
}
export interface StoredAttachment {
  readonly media_type: string;
  readonly bytes: Uint8Array;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

export type Refusal<R extends string> = { readonly ok: false; readonly reason: R };
export type Outcome<R extends string> = { readonly ok: true } | Refusal<R>;

export interface SessionDesk {
  createSession(input: NewSession): Promise<Session>;
  /** Undefined when there is no such session. The caller compares `owner`. */
  getSession(id: string): Promise<Session | undefined>;
  listSessions(query: {
    owner: string;
    status?: SessionStatus;
    awaiting?: boolean;
    cursor?: string;
    limit: number;
  }): Promise<Page<Session> | Refusal<'invalid_cursor'>>;
  renameSession(id: string, title: string): Promise<Session | undefined>;
  /** Ends the session everywhere: log, outbox, questions; hosts see it and remove the files. */
  deleteSession(id: string): Promise<boolean>;

  /** Stores `prompt_received` and the command in one transaction; supersedes a waiting question. The same prompt_id again changes nothing. */
  acceptPrompt(
    id: string,
    prompt: {
      text: string;
      prompt_id: string;
      by: Actor;
      attachments?: readonly { readonly attachment_id: string; readonly name: string }[];
    },
  ): Promise<Outcome<'not_found' | 'attachment_missing'>>;
  /** Keeps a file of the session; the same bytes again are the same file. */
  putAttachment(
    id: string,
    bytes: Uint8Array,
  ): Promise<({ readonly ok: true } & AttachmentInfo) | Refusal<'not_found' | 'too_large' | 'session_full'>>;
  readAttachment(id: string, attachmentId: string): Promise<StoredAttachment | undefined>;
  editPrompt(id: string, promptId: string, text: string): Promise<Outcome<'not_found' | 'prompt_not_queued'>>;
  dequeuePrompt(id: string, promptId: string): Promise<Outcome<'not_found' | 'prompt_not_queued'>>;
  /** The answers were checked against the stored questions by `checkAnswers`. First stored wins; the same again is ok. */
  acceptAnswer(
    id: string,
    answer: { tool_call_id: string; answers: Answers; by: Actor },
  ): Promise<
    | { readonly ok: true; readonly state: QuestionState | 'answered' }
    | Refusal<'not_found' | 'question_closed' | 'invalid_answers'>
  >;
  dismissQuestion(
    id: string,
    dismissal: { tool_call_id: string; reason: string; by: Actor },
  ): Promise<Outcome<'not_found' | 'question_closed'>>;
  /** Not stored in the log: wakes the session and holds the question for `holdMs` from now. */
  attendQuestion(id: string, toolCallId: string, holdMs: number): Promise<Outcome<'not_found' | 'question_closed'>>;
  interrupt(
    id: string,
    by: Actor,
  ): Promise<{ readonly ok: true; readonly status: SessionStatus } | Refusal<'not_found'>>;
  sleep(id: string): Promise<{ readonly ok: true; readonly status: SessionStatus } | Refusal<'not_found' | 'run_open'>>;
  wake(id: string): Promise<{ readonly ok: true; readonly status: SessionStatus } | Refusal<'not_found'>>;

  listPendingQuestions(query: {
    owner: string;
    cursor?: string;
    limit: number;
  }): Promise<Page<PendingQuestion> | Refusal<'invalid_cursor'>>;

  /** Events with idx > since, oldest first. `tail` is the newest idx of the session at that moment. */
  readEvents(
    id: string,
    since: number,
    limit: number,
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly tail: number }>;
  /** The newest events with idx < before, oldest first: reading from the end. */
  readEventsBefore(
    id: string,
    before: number,
    limit: number,
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly tail: number }>;
  /**
   * A page as the API shows it: idx > since (the oldest of them) or idx < before (the newest of them),
   * oldest first.
   */
  readEventTexts(id: string, edge: PageEdge, limit: number): Promise<TextPage>;
  /**
   * Live view. `onEvents` tells that the tail moved, first of all where it is. `fresh` holds events that
   * follow on behind the tail told before, as many as came along: what is missing up to `tail` is to be
   * read by cursor. `onChunk` brings ephemeral chunks; `onDeleted` fires once. Gives the way to stop.
   */
  watchSession(
    id: string,
    watcher: {
      onEvents(tail: number, fresh: readonly EventText[]): void;
      onChunk(chunk: AgentMessageChunk): void;
      onDeleted(): void;
    },
  ): () => void;

  /** Tokens: only the SHA-256 of a token is stored. */
  findTokenOwner(tokenSha256: Uint8Array): Promise<Actor | undefined>;
  putToken(tokenSha256: Uint8Array, owner: Actor): Promise<void>;
  /** One-time login codes: `takeLoginCode` gives the owner once, before `expiresAt`. */
  putLoginCode(codeSha256: Uint8Array, owner: Actor, ttlMs: number): Promise<void>;
  takeLoginCode(codeSha256: Uint8Array): Promise<Actor | undefined>;
  putBrowserSession(secretSha256: Uint8Array, owner: Actor, ttlMs: number): Promise<void>;
  findBrowserSession(secretSha256: Uint8Array): Promise<Actor | undefined>;

  listHosts(): Promise<readonly HostRow[]>;
  /** A draining host keeps what it holds and claims no more. False when there is no such host. */
  drainHost(hostId: string, draining: boolean): Promise<boolean>;
  isReady(): Promise<boolean>;
  /** Figures for /metrics. */
  figures(): Promise<Figures>;
}

export interface HostInfo {
  readonly host_id: string;
  readonly name: string;
  readonly version: string;
  readonly pid: number;
  readonly isolation: string;
  readonly slots: number;
  /** Whether the host found model credentials, where from, and whether it offers the demo model. */
  readonly credentials: 'environment' | 'none';
  readonly demo: boolean;
  readonly claude_version?: string;
  /** The store its sessions' files go to; hosts with the same id share one. */
  readonly store_id?: string;
  readonly memory?: { readonly total_bytes: number; readonly free_bytes: number };
}
export interface HostRow extends HostInfo {
  readonly alive: boolean;
  readonly draining: boolean;
  /** Awake there now. */
  readonly sessions: number;
  /** Sessions, awake or asleep, whose newest files no store has. */
  readonly files_only_here: number;
  readonly seen_at: string;
}

export interface Claim {
  readonly session: Session;
  readonly epoch: number;
  /** The status the session had before this claim. */
  readonly previous: SessionStatus;
  readonly lastHarnessSeq: number;
  readonly files: ClaimedFiles;
}

export interface ClaimedFiles {
  /** This host ran the session last, or nobody did: what is on its disk is the newest there is. */
  readonly newestHere: boolean;
  /** The newest files went with another host: the session goes on from older ones, or from none. */
  readonly lost: boolean;
  /** Nothing ran since the store took them: what it has is as new as any. */
  readonly stored: boolean;
  /** The newest list of files in this host's store. */
  readonly manifest?: string;
}

/** A command accepted and not yet proven done, with its outbox id; oldest first within a session. */
export interface OutboxCommand {
  readonly outboxId: number;
  readonly command: HarnessCommand;
  /** Files that a prompt was given with; the host puts them where the agent can read them. */
  readonly attachments?: readonly Attachment[];
}

export interface AttachFacts {
  readonly open: readonly OpenQuestion[];
  /** Questions closed in the log since the harness may have last heard: answered or dismissed. */
  readonly closed: readonly string[];
  readonly commands: readonly OutboxCommand[];
  readonly lastStoredSeq: number;
}

export type AppendOutcome = { readonly ok: true; readonly storedSeq: number } | Refusal<'stale_epoch'>;

/** Changes that a host must react to for a session it holds. */
export interface HostWatcher {
  /** Some session may be claimable. */
  onClaimable(): void;
  /**
   * New commands, an attend, a sleep request or a deletion for a session this host holds, or held until a moment ago:
   * then it may be claimable.
   */
  onSessionChanged(sessionId: string): void;
}

export interface HostDesk {
  /** Makes or renews the host's row (heartbeat, every 5 s) and says whether it should drain. */
  heartbeat(host: HostInfo): Promise<{ readonly draining: boolean }>;
  /** Sessions with something to do and no living lease; `FOR UPDATE SKIP LOCKED`, database clock; stores status_changed → active. */
  claimSessions(hostId: string, limit: number): Promise<readonly Claim[]>;
  /** Renews all leases this host holds; gives those it no longer holds. */
  renewLeases(
    hostId: string,
    held: readonly { sessionId: string; epoch: number }[],
  ): Promise<{ readonly lost: readonly string[] }>;
  /**
   * Gives the lease up. `to` is stored as status_changed in the same transaction. With `idle` it is
   * refused as `work_waiting` when an undelivered waking command arrived meanwhile: status goes back to active.
   */
  releaseLease(
    sessionId: string,
    epoch: number,
    to: 'idle' | 'host_lost' | 'failed',
  ): Promise<Outcome<'stale_epoch' | 'work_waiting'>>;
  /** active ↔ evicting while the lease is held. */
  setStatus(sessionId: string, epoch: number, to: 'active' | 'evicting'): Promise<Outcome<'stale_epoch'>>;

  /** What a freshly attached harness must hear, in order: reconcile(open, closed), then commands. */
  attachFacts(sessionId: string, epoch: number): Promise<AttachFacts | Refusal<'stale_epoch'>>;
  /** Undelivered commands with outboxId > after. */
  commandsAfter(
    sessionId: string,
    epoch: number,
    after: number,
  ): Promise<readonly OutboxCommand[] | Refusal<'stale_epoch'>>;
  /** The session's wishes that are not commands: hold until (ms from now, 0 none), sleep asked, deleted. */
  sessionWishes(sessionId: string): Promise<{
    readonly attend?: { tool_call_id: string; remainingMs: number };
    readonly sleep: boolean;
    readonly deleted: boolean;
  }>;

  /**
   * Appends harness events by their harness sequence (1, 2, …). Already stored ones are skipped, so
   * a re-attached harness may send again. Group-committed with other sessions' appends. The same
   * transaction retires outbox rows, opens and closes questions and keeps `running` and `usage`.
   */
  appendEvents(
    sessionId: string,
    epoch: number,
    events: readonly { seq: number; event: HarnessEvent }[],
  ): Promise<AppendOutcome>;
  /** An event of the host's own: session_error, answer_failed, notice. */
  appendHostEvent(
    sessionId: string,
    epoch: number,
    event:
      | { type: 'session_error'; code: string; message: string }
      | { type: 'answer_failed'; tool_call_id: string; code: string; message: string },
  ): Promise<AppendOutcome>;
  /** Keeps an image that a tool gave back; the same bytes again are the same file. */
  putAttachment(
    sessionId: string,
    bytes: Uint8Array,
  ): Promise<({ readonly ok: true } & AttachmentInfo) | Refusal<'not_found' | 'too_large' | 'session_full'>>;
  /** The file of a command, or undefined when the session is gone. */
  readAttachment(sessionId: string, attachmentId: string): Promise<StoredAttachment | undefined>;
  /** Ephemeral, best effort, to every replica's live viewers. */
  publishChunk(sessionId: string, chunk: AgentMessageChunk): void;

  /** Makes a list of files in a store the one that counts; refused once the lease is somebody else's. */
  commitFiles(
    sessionId: string,
    epoch: number,
    files: { readonly storeId: string; readonly manifest: string },
  ): Promise<Outcome<'stale_epoch'>>;
  /** Only this host has the newest files, and it goes: the session waits for it to come back. */
  keepFilesHere(sessionId: string, epoch: number): Promise<Outcome<'stale_epoch'>>;
  /** Whether something waits that an asleep session would wake for. */
  hasWork(sessionId: string): Promise<boolean>;
  /** The host ends in order and holds nothing any more. */
  leaveHost(hostId: string): Promise<void>;

  /** Sessions whose copy on this host's disk only takes room. */
  staleCopies(hostId: string): Promise<readonly string[]>;
  forgetCopy(hostId: string, sessionId: string): Promise<void>;
  /** Housekeeping: removes rows that nobody can ask for any more. Gives how many, by table. */
  tidy(): Promise<Readonly<Record<string, number>>>;

  /** Deleted sessions of which a store may still have objects; any of its hosts removes them. */
  deletedInStore(storeId: string): Promise<readonly string[]>;
  confirmDeletedInStore(storeId: string, sessionId: string): Promise<void>;
  /** Deleted sessions whose files this host still keeps. */
  deletedSessions(hostId: string): Promise<readonly string[]>;
  confirmDeleted(hostId: string, sessionId: string): Promise<void>;

  watchHost(hostId: string, watcher: HostWatcher): () => void;
}

export interface Coordinator extends SessionDesk, HostDesk {
  close(): Promise<void>;
}
