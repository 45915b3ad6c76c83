// Decides when a session that a host holds should be put to sleep. Pure: what is known about the
// session goes in as facts, a due time comes out.
//
// A run that is open is never put to sleep, however silent it is. A question that waits needs no
// process, so the session goes at once; everything else gets the soft time-out.

import { assertNever, type HarnessCommand, type HarnessEvent } from '@engram/harness-proto';

const ANSWER = 'answer ';

export interface IdlePolicy {
  /** Soft time-out after the harness said that it is idle. */
  readonly idleMs: number;
  /** Hard time-out: so long at most does something that the agent left running in the background keep it awake. */
  readonly backgroundMs: number;
  /** A harness that says neither that it works nor that it is idle is left alone for at least this long. */
  readonly silentMs: number;
  /** After this long without a proof for a delivered command the session is put to sleep and woken afresh. */
  readonly unprovenMs: number;
}

export interface SessionFacts {
  /** The harness has heard everything that the log holds for it. */
  readonly briefed: boolean;
  /** `run_started` without its end. */
  readonly runOpen: boolean;
  /** The harness's last word was `harness_idle`. */
  readonly harnessIdle: boolean;
  /** Questions open in the log, by tool call id. */
  readonly waiting: ReadonlySet<string>;
  /** Commands given to the harness whose effect no stored event has shown yet. */
  readonly unproven: ReadonlySet<string>;
  /** Somebody is answering: the agent is kept awake until then. */
  readonly hold?: { readonly toolCallId: string; readonly until: number };
  /** A run began since the files were last put away or about to be. */
  readonly unsaved: boolean;
  /** Since when something runs in the background beside no run. */
  readonly backgroundSince?: number;
  readonly sleepAsked: boolean;
  /** The host takes no new work: idle sessions go to sleep without the soft time-out. */
  readonly draining: boolean;
  readonly quietSince: number;
}

export function createFacts(input: {
  readonly running: boolean;
  readonly waiting: readonly string[];
  readonly now: number;
}): SessionFacts {
  return {
    briefed: false,
    runOpen: input.running,
    harnessIdle: false,
    waiting: new Set(input.waiting),
    unproven: new Set(),
    unsaved: false,
    sleepAsked: false,
    draining: false,
    quietSince: input.now,
  };
}

/** The moment at which the session may be put to sleep; undefined while it must stay awake. */
export function sleepDueAt(facts: SessionFacts, policy: IdlePolicy): number | undefined {
  if (!facts.briefed || facts.runOpen) return undefined;
  if (facts.unproven.size > 0) return facts.quietSince + policy.unprovenMs;
  if (facts.sleepAsked) return facts.quietSince;
  const quietSince = Math.max(facts.quietSince, facts.hold?.until ?? 0);
  if (!facts.harnessIdle) return quietSince + Math.max(policy.silentMs, policy.idleMs);
  if (facts.waiting.size > 0 || facts.draining) return quietSince;
  const soft = quietSince + policy.idleMs;
  return facts.backgroundSince === undefined ? soft : Math.max(soft, facts.backgroundSince + policy.backgroundMs);
}

/** A question can be held while it waits and nothing that ends it is on its way to the agent. */
export function isHoldable(facts: SessionFacts, toolCallId: string): boolean {
  return facts.waiting.has(toolCallId) && !questionKeys(toolCallId).some((key) => facts.unproven.has(key));
}

/** Answers that a harness which says it is idle has not brought to its agent. */
export function givenUpAnswers(facts: SessionFacts): readonly string[] {
  if (!facts.harnessIdle) return [];
  return [...facts.unproven].flatMap((key) => (key.startsWith(ANSWER) ? [key.slice(ANSWER.length)] : []));
}

/** What a stored event changes. */
export function afterEvent(facts: SessionFacts, event: HarnessEvent, now: number): SessionFacts {
  const base = { ...facts, quietSince: now };
  switch (event.type) {
    case 'run_started': {
      const proven = event.prompt_id === undefined ? [] : promptKeys(event.prompt_id);
      return {
        ...withoutBackground(base),
        runOpen: true,
        harnessIdle: false,
        unsaved: true,
        unproven: without(facts.unproven, proven),
      };
    }
    case 'run_completed':
    case 'run_interrupted':
      return { ...base, runOpen: false };
    case 'harness_idle':
      return { ...base, runOpen: false, harnessIdle: true };
    case 'prompt_queued':
      return { ...base, unproven: without(facts.unproven, [`prompt ${event.prompt_id}`]) };
    case 'prompt_edited':
      return { ...base, unproven: without(facts.unproven, [`edit ${event.prompt_id}`]) };
    case 'prompt_dequeued':
      return { ...base, unproven: without(facts.unproven, promptKeys(event.prompt_id)) };
    case 'user_question':
      return { ...base, waiting: new Set([...facts.waiting, event.tool_call_id]) };
    case 'question_answered':
    case 'question_dismissed': {
      const { hold, ...rest } = base;
      const closed = {
        ...rest,
        waiting: without(facts.waiting, [event.tool_call_id]),
        unproven: without(facts.unproven, questionKeys(event.tool_call_id)),
      };
      return hold === undefined || hold.toolCallId === event.tool_call_id ? closed : { ...closed, hold };
    }
    case 'agent_message':
    case 'agent_thought':
    case 'agent_message_chunk':
    case 'tool_call_started':
    case 'tool_call_completed':
    case 'file_changed':
    case 'usage':
    case 'unknown':
      return base;
    case 'notice':
      return afterNotice(base, facts, event.code, now);
    default:
      return assertNever(event);
  }
}

/** A notice is no activity: what runs in the background says when it began and ended, and the rest nothing. */
function afterNotice(base: SessionFacts, before: SessionFacts, code: string, now: number): SessionFacts {
  switch (code) {
    case 'background_running':
      return { ...base, backgroundSince: before.backgroundSince ?? now };
    case 'background_ended':
    case 'background_stopped':
      return withoutBackground(base);
    default:
      return base;
  }
}

function withoutBackground({ backgroundSince: _gone, ...rest }: SessionFacts): SessionFacts {
  return rest;
}

/** What giving a command to the harness changes. */
export function afterCommand(facts: SessionFacts, command: HarnessCommand, now: number): SessionFacts {
  const key = unprovenKey(command);
  if (key === undefined) return facts;
  return {
    ...facts,
    quietSince: now,
    harnessIdle: false,
    sleepAsked: false,
    unproven: new Set([...facts.unproven, key]),
  };
}

export function withHold(facts: SessionFacts, hold: { toolCallId: string; until: number } | undefined): SessionFacts {
  if (hold === undefined) {
    const { hold: _released, ...rest } = facts;
    return rest;
  }
  return { ...facts, harnessIdle: false, hold };
}

/** Undefined for commands that no event has to prove. */
function unprovenKey(command: HarnessCommand): string | undefined {
  switch (command.type) {
    case 'prompt':
      return `prompt ${command.prompt_id}`;
    case 'edit_queued':
      return `edit ${command.prompt_id}`;
    case 'dequeue_queued':
      return `dequeue ${command.prompt_id}`;
    case 'answer_question':
      return `${ANSWER}${command.tool_call_id}`;
    case 'dismiss_question':
      return `dismiss ${command.tool_call_id}`;
    case 'checkpoint':
    case 'shutdown':
    case 'interrupt':
    case 'rehandshake':
    case 'attend_question':
    case 'reconcile':
    case 'acknowledge':
    case 'unknown':
      return undefined;
    default:
      return assertNever(command);
  }
}

function promptKeys(promptId: string): readonly string[] {
  return [`prompt ${promptId}`, `edit ${promptId}`, `dequeue ${promptId}`];
}

function questionKeys(toolCallId: string): readonly string[] {
  return [`${ANSWER}${toolCallId}`, `dismiss ${toolCallId}`];
}

function without(set: ReadonlySet<string>, gone: readonly string[]): ReadonlySet<string> {
  if (!gone.some((key) => set.has(key))) return set;
  const rest = new Set(set);
  for (const key of gone) rest.delete(key);
  return rest;
}
