// Decides what harness events do to a session: which are stored, which are repeats, what they
// prove (and so retire), what they do to questions, the open run and the totals. Pure: the facts of
// the locked session come in, the whole change comes out.

import type { Answers, HarnessEvent, Notice, PromptEdited, Question, Usage } from '@engram/harness-proto';
import { type EventRow, type StorableEvent, toEventRow } from '../event-rows.js';
import type { Retirement } from '../outbox.js';
import { cleanText } from '../payload.js';
import type { QuestionChange, StoredQuestion } from '../questions.js';

export interface SessionFacts {
  readonly id: string;
  readonly ownerId: string;
  readonly lastIdx: number;
  readonly harnessSeq: number;
  readonly openRun: string | null;
  /** By prompt, the new texts of edits that are owed, oldest first: a harness tells only a summary. */
  readonly editedTexts?: ReadonlyMap<string, readonly string[]>;
}

/** What a host wants stored: an event of its harness by that harness's count, or one of its own. */
export type Incoming =
  | { readonly from: 'harness'; readonly seq: number; readonly event: HarnessEvent }
  | { readonly from: 'host'; readonly event: StorableEvent };

export interface Totals {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly cost_micro_usd: number;
}

export interface Folded {
  readonly session: SessionFacts;
  readonly rows: readonly EventRow[];
  readonly retirements: readonly Retirement[];
  readonly seenPrompts: readonly { readonly sessionId: string; readonly promptId: string }[];
  readonly questions: readonly QuestionChange[];
  readonly usage: Totals;
  /** A run began: what a store has of the files is not the newest any more. */
  readonly ran: boolean;
  /** Set when a sequence number is missing; nothing from there on was taken. */
  readonly gapAt?: number;
}

interface QuestionFacts {
  readonly questions: readonly Question[];
  readonly state: StoredQuestion['state'];
  readonly proven: boolean;
}

/** The calls whose stored state the fold needs to know. */
export function questionKeys(incoming: readonly Incoming[]): readonly string[] {
  return incoming.flatMap(({ event }) => {
    const id = 'tool_call_id' in event ? event.tool_call_id : undefined;
    return typeof id === 'string' && QUESTION_KINDS.has(event.type) ? [cleanText(id)] : [];
  });
}

/** The prompts whose owed edits the fold needs to know. */
export function editedPrompts(incoming: readonly Incoming[]): readonly string[] {
  return incoming.flatMap(({ event }) => (isEdited(event) ? [cleanText(event.prompt_id)] : []));
}

function isEdited(event: Incoming['event']): event is PromptEdited {
  return event.type === 'prompt_edited' && 'prompt_id' in event && typeof event.prompt_id === 'string';
}

const QUESTION_KINDS = new Set(['user_question', 'question_answered', 'question_dismissed', 'answer_failed', 'notice']);
/** Codes of notices by which a harness tells that an accepted answer did not reach its agent. */
const UNDELIVERED_NOTICES = new Set(['answer_failed', 'answer_stale']);

export function foldEvents(
  facts: SessionFacts,
  known: readonly StoredQuestion[],
  incoming: readonly Incoming[],
): Folded {
  const fold = new Fold(facts, known);
  for (const each of incoming) {
    if (each.from === 'host') fold.takeHostEvent(each.event);
    else if (each.seq <= fold.harnessSeq) continue;
    else if (each.seq > fold.harnessSeq + 1) return { ...fold.result(), gapAt: fold.harnessSeq + 1 };
    else fold.takeHarnessEvent(each.seq, each.event);
  }
  return fold.result();
}

/** Collects one fold; it lives no longer than the call above. */
class Fold {
  harnessSeq: number;
  readonly #facts: SessionFacts;
  readonly #known: Map<string, QuestionFacts>;
  #openRun: string | null;
  #ran = false;
  readonly #edits = new Map<string, number>();
  readonly #rows: EventRow[] = [];
  readonly #retirements: Retirement[] = [];
  readonly #seen: { sessionId: string; promptId: string }[] = [];
  readonly #questions: QuestionChange[] = [];
  #usage: Totals = {
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    cost_micro_usd: 0,
  };

  constructor(facts: SessionFacts, known: readonly StoredQuestion[]) {
    this.#facts = facts;
    this.harnessSeq = facts.harnessSeq;
    this.#openRun = facts.openRun;
    this.#known = new Map(
      known.map(({ tool_call_id, questions, state }) => [tool_call_id, { questions, state, proven: false }]),
    );
  }

  result(): Folded {
    return {
      session: {
        ...this.#facts,
        lastIdx: this.#facts.lastIdx + this.#rows.length,
        harnessSeq: this.harnessSeq,
        openRun: this.#openRun,
      },
      rows: this.#rows,
      retirements: this.#retirements,
      seenPrompts: this.#seen,
      questions: this.#questions,
      usage: this.#usage,
      ran: this.#ran,
    };
  }

  takeHostEvent(event: StorableEvent): void {
    if (event.type !== 'answer_failed' || !('tool_call_id' in event) || typeof event.tool_call_id !== 'string') {
      this.#store(event);
      return;
    }
    const call = cleanText(event.tool_call_id);
    const question = this.#known.get(call);
    this.#retire('answer', call);
    // A question that is over cannot fail any more.
    if (question?.state === 'answered' || question?.state === 'dismissed') return;
    this.#store(event);
    if (question?.state === 'sent') this.#change(call, question, 'failed', {});
  }

  takeHarnessEvent(seq: number, event: HarnessEvent): void {
    this.harnessSeq = seq;
    switch (event.type) {
      case 'run_started':
        this.#store(event);
        this.#openRun = cleanText(event.run_id);
        this.#ran = true;
        if (event.prompt_id !== undefined) this.#retirePrompt(cleanText(event.prompt_id));
        return;
      case 'run_completed':
      case 'run_interrupted':
      case 'harness_idle':
        if (!this.#isEndedRun(event)) this.#store(event);
        // With no run open there is nothing left to interrupt.
        this.#openRun = null;
        this.#retire('interrupt');
        return;
      case 'prompt_queued':
        this.#store(event);
        this.#seen.push({ sessionId: this.#facts.id, promptId: cleanText(event.prompt_id) });
        return;
      case 'prompt_edited':
        this.#takeEdited(event);
        return;
      case 'prompt_dequeued':
        this.#store(event);
        this.#retirePrompt(cleanText(event.prompt_id));
        return;
      case 'user_question':
        this.#takeQuestion(event);
        return;
      case 'question_answered':
        this.#takeAnswered(event);
        return;
      case 'question_dismissed':
        this.#takeDismissed(event);
        return;
      case 'usage':
        this.#store(event);
        this.#usage = addUsage(this.#usage, event);
        return;
      case 'agent_message':
      case 'tool_call_started':
      case 'tool_call_completed':
      case 'file_changed':
      case 'unknown':
        this.#store(event);
        return;
      case 'notice':
        this.#takeNotice(event);
        return;
      case 'agent_message_chunk':
        // Ephemeral: shown live, never part of the log.
        return;
      default:
        // A harness linked to a newer release of the event types: kept as it came.
        this.#store(event);
    }
  }

  /** A run of a session that failed is over in the log; its harness tells that later as a failure of its own. */
  #isEndedRun(event: HarnessEvent): boolean {
    const failed = event.type === 'run_interrupted' || (event.type === 'run_completed' && !event.ok);
    return failed && this.#openRun !== cleanText(event.run_id);
  }

  #takeEdited(event: PromptEdited): void {
    const id = cleanText(event.prompt_id);
    const seen = this.#edits.get(id) ?? 0;
    const text = this.#facts.editedTexts?.get(id)?.[seen];
    this.#edits.set(id, seen + 1);
    this.#store(text === undefined ? event : { ...event, text });
    this.#retirements.push({ ...this.#retirement('edit', id), oldestOnly: true });
  }

  /** A harness says with a notice that it gave an answer up: the answer failed, and can be sent again. */
  #takeNotice(event: Notice): void {
    const call = event.tool_call_id === undefined ? undefined : cleanText(event.tool_call_id);
    const gaveUp = UNDELIVERED_NOTICES.has(event.code) && call !== undefined && this.#known.get(call)?.state === 'sent';
    if (!gaveUp) this.#store(event);
    else
      this.takeHostEvent({ type: 'answer_failed', tool_call_id: call, code: 'not_delivered', message: event.message });
  }

  /** A call that is known in any state was asked before, or is over already. */
  #takeQuestion(event: Extract<HarnessEvent, { type: 'user_question' }>): void {
    const call = cleanText(event.tool_call_id);
    if (this.#known.has(call)) return;
    this.#store(event);
    this.#change(call, { questions: event.questions, state: 'waiting', proven: false }, 'waiting', {});
  }

  #takeAnswered(event: Extract<HarnessEvent, { type: 'question_answered' }>): void {
    const call = cleanText(event.tool_call_id);
    const question = this.#known.get(call);
    this.#retire('answer', call);
    this.#retire('dismiss', call);
    if (question?.state === 'answered') return;
    if (question?.state === 'dismissed') {
      // One closing a question: the card stays as it was closed, and the log says what the agent has.
      const message = 'The agent has an answer to this question, although it was closed before.';
      const { run_id } = event;
      this.#store({
        type: 'notice',
        level: 'warning',
        code: 'answer_after_closing',
        message,
        run_id,
        tool_call_id: call,
      });
      this.#change(call, question, 'dismissed', { answers: event.answers, proven: true });
      return;
    }
    this.#store(event);
    this.#change(call, question, 'answered', { answers: event.answers, proven: true });
  }

  #takeDismissed(event: Extract<HarnessEvent, { type: 'question_dismissed' }>): void {
    const call = cleanText(event.tool_call_id);
    const question = this.#known.get(call);
    this.#retire('dismiss', call);
    this.#retire('answer', call);
    if (question?.state === 'answered') return;
    if (question?.state === 'dismissed') {
      // The proof of what a person did: the card closed when that was stored.
      this.#change(call, question, 'dismissed', { proven: true });
      return;
    }
    if (question?.state === 'sent') {
      const message = 'the question was closed by the agent before the answer reached it';
      this.#store({ type: 'answer_failed', tool_call_id: call, code: 'question_closed', message });
    }
    this.#store(event);
    this.#change(call, question, 'dismissed', { reason: cleanText(event.reason), proven: true });
  }

  #store(event: StorableEvent): void {
    this.#rows.push(toEventRow(this.#facts.id, this.#facts.lastIdx + this.#rows.length + 1, event));
  }

  #retirement(kind: Retirement['kind'], ref?: string): Retirement {
    return { sessionId: this.#facts.id, kind, ...(ref === undefined ? {} : { ref }) };
  }

  #retire(kind: Retirement['kind'], ref?: string): void {
    this.#retirements.push(this.#retirement(kind, ref));
  }

  /** Once a prompt runs or is gone, nothing about its place in the queue is owed any more. */
  #retirePrompt(promptId: string): void {
    for (const kind of ['prompt', 'edit', 'dequeue'] as const) this.#retire(kind, promptId);
  }

  #change(
    call: string,
    question: QuestionFacts | undefined,
    state: QuestionFacts['state'],
    more: { readonly answers?: Answers; readonly reason?: string; readonly proven?: boolean },
  ): void {
    const questions = question?.questions ?? [];
    const proven = more.proven ?? false;
    this.#known.set(call, { questions, state, proven });
    this.#questions.push({
      sessionId: this.#facts.id,
      toolCallId: call,
      ownerId: this.#facts.ownerId,
      questions,
      state,
      answers: more.answers ?? null,
      reason: more.reason ?? null,
      idx: this.#facts.lastIdx + this.#rows.length,
      proven,
    });
  }
}

function addUsage(total: Totals, usage: Usage): Totals {
  return {
    input_tokens: total.input_tokens + usage.input_tokens,
    output_tokens: total.output_tokens + usage.output_tokens,
    cache_read_tokens: total.cache_read_tokens + usage.cache_read_tokens,
    cache_write_tokens: total.cache_write_tokens + usage.cache_write_tokens,
    cost_micro_usd: total.cost_micro_usd + (usage.cost_micro_usd ?? 0),
  };
}
