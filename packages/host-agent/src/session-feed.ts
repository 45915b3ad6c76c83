// The two-way traffic between a session's log and its harness: at each attach what the log knows,
// then commands as they come, oldest first; events back in order through the relay. Attaches and
// refreshes run one at a time, so that no command overtakes another or goes out twice on one link.

import type { AttachFacts, HostDesk, OutboxCommand } from '@engram/coordinator';
import { type HarnessCommand, startSpan } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { placeFiles } from './attached-files.js';
import { pause, within } from './deadline.js';
import { createEventRelay } from './event-relay.js';
import type { HarnessLink } from './harness-link.js';
import { storeImages } from './result-images.js';
import type { RunnerInput } from './runner-core.js';

export interface SessionFeedOptions {
  readonly desk: HostDesk;
  readonly sessionId: string;
  readonly epoch: number;
  /** Upper bound of one hold. */
  readonly holdMs: number;
  /** HOME of the agent, where files given with a prompt are put; known before a harness attaches. */
  agentHome(): string | undefined;
  /** The harness's own files; known as soon as it is. */
  stateDir(): string | undefined;
  readonly log: Logger;
  readonly tell: (input: RunnerInput) => void;
  /** False once the harness was told to end. */
  takesCommands(): boolean;
  /** False for a question that is closed, or that something on its way will close. */
  mayHold(toolCallId: string): boolean;
}

export interface SessionFeed {
  /** Asks the log ahead of an attach that will come soon. */
  prefetch(): void;
  /** The newest link wins: the one before is closed. */
  attach(link: HarnessLink): void;
  /** The log may hold new commands or wishes. */
  refresh(): void;
  send(command: HarnessCommand): void;
  /** The harness is gone: waits, within bounds, until what it sent is stored. */
  settle(): Promise<void>;
  /** No more reading or writing. */
  close(): void;
}

/** How long the last words of a harness may take through the socket and into the log. */
const SETTLE_LINK_MS = 1_000;
const SETTLE_STORE_MS = 15_000;
const ATTACH_RETRY_MS = 250;
/** A hold is renewed when it gained at least this much. */
const HOLD_STEP_MS = 1_000;

type Wishes = Awaited<ReturnType<HostDesk['sessionWishes']>>;
/** All that a fresh attach needs, and when it was asked for. */
interface Briefing {
  readonly facts: AttachFacts | { readonly ok: false; readonly reason: 'stale_epoch' };
  readonly wishes: Wishes;
  readonly askedAt: number;
}
/** Links that broke the protocol in a row before the harness is ended. */
const BROKEN_LINKS_MAX = 3;

export function createSessionFeed(options: SessionFeedOptions): SessionFeed {
  const { desk, sessionId, epoch, log, tell } = options;
  let link: HarnessLink | undefined;
  let newest: HarnessLink | undefined;
  let prefetched: Promise<Briefing> | undefined;
  let brokenLinks = 0;
  let lastOutboxId = 0;
  let hold: { toolCallId: string; until: number } | undefined;
  let turn: Promise<void> = Promise.resolve();
  let refreshQueued = false;
  let closed = false;

  const relay = createEventRelay({
    desk,
    sessionId,
    epoch,
    log,
    async storeFiles(events) {
      const stateDir = options.stateDir();
      if (stateDir !== undefined) await storeImages(events, { desk, sessionId, stateDir, log });
    },
    onStored(events, storedSeq) {
      brokenLinks = 0;
      link?.send({ type: 'acknowledge', stored_seq: storedSeq });
      tell({ type: 'events_stored', events });
    },
    onStaleEpoch: () => tell({ type: 'lease_lost' }),
    onPressure: (high) => link?.holdBack(high),
  });

  function inTurn(work: () => Promise<void>): void {
    turn = turn.then(work).catch((error: unknown) => log.warn({ err: error }, 'session traffic hit a problem'));
  }

  async function connect(next: HarnessLink): Promise<void> {
    link?.close();
    link = undefined;
    await relay.halt();
    const briefing = await readBriefing(next);
    const commands = await placeOwed(briefing, next);
    if (briefing === undefined || commands === undefined || next !== newest || closed) {
      next.close();
      return;
    }
    const { facts, wishes } = briefing;
    if ('ok' in facts) {
      next.refuse('stale_epoch');
      tell({ type: 'lease_lost' });
      return;
    }
    relay.open(facts.lastStoredSeq);
    link = next;
    hold = undefined;
    next.accept(facts.lastStoredSeq, {
      onEvent: (event, bytes) => relay.push(event, bytes),
      onBroken() {
        brokenLinks += 1;
        if (brokenLinks >= BROKEN_LINKS_MAX) tell({ type: 'harness_broken' });
      },
      onClosed() {
        if (link !== next) return;
        link = undefined;
        tell({ type: 'link_lost' });
      },
    });
    tell({ type: 'attached' });
    if (!options.takesCommands()) return;
    next.send({ type: 'reconcile', open: facts.open, closed: facts.closed });
    lastOutboxId = 0;
    for (const each of commands) deliver(each.outboxId, each.command);
    // A hold goes out with the attach: the harness would call itself idle before a second look.
    takeWishes(wishes, briefing.askedAt);
    tell({ type: 'briefed' });
    refresh();
  }

  function takeWishes(wishes: Wishes, askedAt: number): void {
    const attend = wishes.attend && {
      ...wishes.attend,
      remainingMs: Math.min(wishes.attend.remainingMs - (Date.now() - askedAt), options.holdMs),
    };
    if (options.takesCommands()) passHold(attend);
    tell({
      type: 'wishes',
      wishes: { sleep: wishes.sleep, deleted: wishes.deleted, ...(attend === undefined ? {} : { attend }) },
    });
  }

  async function askBriefing(): Promise<Briefing> {
    const askedAt = Date.now();
    const [facts, wishes] = await Promise.all([desk.attachFacts(sessionId, epoch), desk.sessionWishes(sessionId)]);
    return { facts, wishes, askedAt };
  }

  /** Undefined when the harness did not wait for it. */
  async function readBriefing(next: HarnessLink): Promise<Briefing | undefined> {
    let briefing = prefetched;
    prefetched = undefined;
    while (next.isOpen() && !closed) {
      try {
        return await (briefing ?? askBriefing());
      } catch (error) {
        log.warn({ err: error }, 'the log could not be read for an attach, trying again');
        briefing = undefined;
        await pause(ATTACH_RETRY_MS);
      }
    }
    return undefined;
  }

  function place(commands: readonly OutboxCommand[]): Promise<readonly OutboxCommand[]> | readonly OutboxCommand[] {
    const agentHome = options.agentHome();
    return agentHome === undefined ? commands : placeFiles(commands, { desk, sessionId, agentHome, log });
  }

  /** The commands of a briefing with their files in place; undefined when the harness did not wait for it. */
  async function placeOwed(
    briefing: Briefing | undefined,
    next: HarnessLink,
  ): Promise<readonly OutboxCommand[] | undefined> {
    if (briefing === undefined) return undefined;
    if ('ok' in briefing.facts) return [];
    while (next.isOpen() && !closed) {
      try {
        return await place(briefing.facts.commands);
      } catch (error) {
        log.warn({ err: error }, 'the files of a prompt could not be read, trying again');
        await pause(ATTACH_RETRY_MS);
      }
    }
    return undefined;
  }

  /** The delivery as a span of the command's trace; what the harness does is below it. */
  function traced(command: HarnessCommand, outboxId: number): HarnessCommand {
    if (command.type !== 'prompt' && command.type !== 'answer_question' && command.type !== 'dismiss_question')
      return command;
    const attributes = { 'engram.session_id': sessionId, 'engram.outbox_id': outboxId, 'engram.epoch': epoch };
    const span = startSpan(`deliver ${command.type}`, { kind: 'consumer', parent: command.trace_parent, attributes });
    span?.end();
    return span === undefined ? command : { ...command, trace_parent: span.traceParent };
  }

  function deliver(outboxId: number, command: HarnessCommand): void {
    lastOutboxId = Math.max(lastOutboxId, outboxId);
    const settles = command.type === 'answer_question' || command.type === 'dismiss_question';
    if (settles && command.tool_call_id === hold?.toolCallId) hold = undefined;
    link?.send(traced(command, outboxId));
    log.info({ outboxId, command: command.type }, 'command delivered');
    tell({ type: 'command_sent', command });
  }

  function refresh(): void {
    if (refreshQueued || closed) return;
    refreshQueued = true;
    inTurn(async () => {
      refreshQueued = false;
      if (closed) return;
      const wanted = link;
      // One after the other: an agent may be waiting for a command, and two statements at a time slow each other down.
      const commands = wanted === undefined ? [] : await desk.commandsAfter(sessionId, epoch, lastOutboxId);
      if (!('ok' in commands)) deliverOver(wanted, await place(commands));
      const askedAt = Date.now();
      const wishes = await desk.sessionWishes(sessionId);
      if ('ok' in commands) {
        tell(wishes.deleted ? { type: 'wishes', wishes } : { type: 'lease_lost' });
        return;
      }
      if (wishes.attend === undefined && hold !== undefined && wanted !== undefined) {
        // The hold may have ended because its answer was stored between the two reads: that goes first.
        const answered = await desk.commandsAfter(sessionId, epoch, lastOutboxId);
        if (!('ok' in answered)) deliverOver(wanted, await place(answered));
      }
      takeWishes(wishes, askedAt);
    });
  }

  function deliverOver(wanted: HarnessLink | undefined, commands: readonly OutboxCommand[]): void {
    for (const each of commands) {
      if (wanted === undefined || wanted !== link || !options.takesCommands()) return;
      deliver(each.outboxId, each.command);
    }
  }

  function passHold(attend: { readonly tool_call_id: string; readonly remainingMs: number } | undefined): void {
    const now = Date.now();
    if (attend === undefined || attend.remainingMs <= 0) {
      if (hold !== undefined && hold.until > now) {
        link?.send({ type: 'attend_question', tool_call_id: hold.toolCallId, hold_ms: 0 });
      }
      hold = undefined;
      return;
    }
    if (!options.mayHold(attend.tool_call_id)) return;
    const holdMs = attend.remainingMs;
    const renewed = hold?.toolCallId !== attend.tool_call_id || hold.until + HOLD_STEP_MS <= now + holdMs;
    if (!renewed) return;
    hold = { toolCallId: attend.tool_call_id, until: now + holdMs };
    link?.send({ type: 'attend_question', tool_call_id: attend.tool_call_id, hold_ms: Math.round(holdMs) });
    log.info({ toolCallId: attend.tool_call_id, holdMs }, 'question is attended');
  }

  return {
    prefetch() {
      prefetched = askBriefing();
      // Read again at the attach when this fails; until then nobody is waiting for it.
      prefetched.catch(() => undefined);
    },
    attach(next) {
      newest = next;
      inTurn(() => connect(next));
    },
    refresh,
    send: (command) => link?.send(command),
    async settle() {
      newest = undefined;
      const last = link;
      if (last !== undefined) await within(SETTLE_LINK_MS, last.closed).catch(() => last.close());
      await within(SETTLE_STORE_MS, relay.drain()).catch(() => log.warn('the last events are not stored yet'));
      await relay.halt();
    },
    close() {
      closed = true;
      relay.close();
      link?.close();
    },
  };
}
