// A session without processes: the real core, a saved state and log that survive, an agent that
// follows the CLI's measured rules, a host that redelivers. It can stop at any effect, losing all
// that lives in memory, and start again. Milliseconds instead of minutes; nothing here is a mock of
// our own code.

import type { HarnessEvent, KnownHarnessCommand } from '@engram/harness-proto';
import { toDismissalReason } from '../src/answer-text.js';
import { CLOSED_GATE } from '../src/defer-gate.js';
import { lineUuid, promptText } from '../src/prompt-line.js';
import type { Verdict } from '../src/question-state.js';
import type { Line } from '../src/run-state.js';
import { startAhead } from '../src/session-changes.js';
import {
  NEW_SESSION,
  recover,
  type SessionEffect,
  type SessionInput,
  type SessionState,
  type SessionStep,
  step,
} from '../src/session-core.js';

export class Crash extends Error {}

export const TOOL_INPUT = {
  questions: [{ question: 'Q?', header: 'H', multiSelect: false, options: [{ label: 'a' }] }],
};

interface ParkedTurn {
  readonly toolCallId: string;
  readonly marker: boolean;
}

/** What the CLI keeps on disk. */
interface Transcript {
  readonly lines: Map<string, 'unfinished' | 'finished'>;
  readonly results: Map<string, { verdict: Verdict | 'denied'; trace: 'unfinished' | 'finished' }>;
  parked: ParkedTurn | undefined;
}

export interface SimulationOptions {
  /** Stop before these effects and saves, counted over the whole simulation from 0. */
  readonly crashAt?: readonly number[];
  /** A resumed agent does not fire the hook of its parked call. */
  readonly hooksSilentOnResume?: boolean;
  /** Before the stream shows the call (0), between (1), after the message ended (2). */
  readonly hookArrives?: number;
  /** Its agent is killed before these effects and saves, counted as for `crashAt`. */
  readonly killAgentAt?: readonly number[];
  /** It writes a call's result down only when the model goes on. */
  readonly writesLate?: boolean;
  /** The echo of a line comes before its turn's first word, as on newer versions. */
  readonly echoesFirst?: boolean;
}

export class SimulatedSession {
  // ---- survives a crash
  saved: SessionState = NEW_SESSION;
  readonly log: HarnessEvent[] = [];
  readonly transcript: Transcript = { lines: new Map(), results: new Map(), parked: undefined };
  /** Everything the conversation holds, in order. */
  readonly told: string[] = [];
  /** Accepted and not proven done. */
  outbox: KnownHarnessCommand[] = [];
  /** Replies by hook fire, crashes included. */
  readonly replies = new Map<string, number>();
  readonly accepted: KnownHarnessCommand[] = [];
  points = 0;
  crashes = 0;
  kills = 0;
  starts = 0;
  // ---- does not
  private state: SessionState = NEW_SESSION;
  /** What the agent prints, and what it writes to its disk in between. */
  private pending: (SessionInput | (() => void))[] = [];
  private held: { fireId: string; toolCallId: string; resumed: boolean } | undefined;
  private alive = false;
  private stdinClosed = false;
  private busyTurn: string | undefined;
  private unread: Line | undefined;
  private ids = 0;
  private readonly options: SimulationOptions;

  constructor(options: SimulationOptions = {}) {
    this.options = options;
  }

  /** Accept commands as a coordinator does, then let everything happen that can. */
  command(...commands: KnownHarnessCommand[]) {
    this.outbox.push(...commands);
    this.accepted.push(...commands);
    this.guarded(() => {
      for (const command of commands) this.dispatch({ type: 'command', command });
      this.run();
    });
  }

  start() {
    this.guarded(() => this.boot());
  }

  /** The host sends everything again, as after a lost link. */
  redeliver() {
    this.guarded(() => {
      this.dispatch({ type: 'command', command: this.reconcile() });
      for (const command of [...this.accepted]) {
        if (command.type !== 'interrupt' && command.type !== 'attend_question')
          this.dispatch({ type: 'command', command });
      }
      this.run();
    });
  }

  /** A hook of the living agent that nobody replied to although nothing is left to do. */
  get forgottenFire(): string | undefined {
    return this.alive && this.state.question.status !== 'attending' ? this.held?.fireId : undefined;
  }

  private guarded(work: () => void) {
    let next = work;
    for (;;) {
      try {
        return next();
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
        this.crashes += 1;
        next = () => this.boot();
      }
    }
  }

  private boot() {
    this.pending = [];
    this.held = undefined;
    this.unread = undefined;
    this.alive = false;
    this.busyTurn = undefined;
    this.take(recover(this.saved, this.newId()));
    this.run();
    this.retire();
    this.dispatch({ type: 'command', command: this.reconcile() });
    for (const command of [...this.outbox]) this.dispatch({ type: 'command', command });
    this.dispatch({ type: 'settled' });
    this.run();
  }

  private reconcile(): KnownHarnessCommand {
    const closed = this.log.flatMap((event) =>
      event.type === 'question_answered' || event.type === 'question_dismissed' ? [event.tool_call_id] : [],
    );
    const open = this.log.flatMap((event) =>
      event.type === 'user_question' && !closed.includes(event.tool_call_id)
        ? [{ tool_call_id: event.tool_call_id, questions: event.questions }]
        : [],
    );
    return { type: 'reconcile', open, closed };
  }

  /** Commands whose proof is in the log are done. */
  private retire() {
    const done = (command: KnownHarnessCommand): boolean => {
      switch (command.type) {
        case 'prompt':
          return this.log.some((event) => event.type === 'run_started' && event.prompt_id === command.prompt_id);
        case 'answer_question':
        case 'dismiss_question':
          return this.log.some(
            (event) =>
              (event.type === 'question_answered' || event.type === 'question_dismissed') &&
              event.tool_call_id === command.tool_call_id,
          );
        default:
          return true;
      }
    };
    this.outbox = this.outbox.filter((command) => !done(command));
  }

  // ---- the shell ---------------------------------------------------------------------------

  private point() {
    const at = this.points;
    this.points += 1;
    if (this.options.crashAt?.includes(at)) throw new Crash(`at ${at}`);
    if (this.options.killAgentAt?.includes(at) && this.alive) this.killAgent();
  }

  /** A moment at which it may be killed; false when it was. */
  private lives(): boolean {
    this.point();
    return this.alive;
  }

  /** What it printed and did not write down is lost with it; what it printed is read. */
  private killAgent() {
    this.kills += 1;
    this.alive = false;
    this.held = undefined;
    this.unread = undefined;
    this.busyTurn = undefined;
    this.pending = [
      ...this.pending.filter((one) => typeof one !== 'function'),
      { type: 'agent_exited', reason: 'killed' },
    ];
  }

  dispatch(input: SessionInput) {
    this.take(step(this.state, input, this.newId()));
  }

  private take({ state, effects }: SessionStep) {
    this.point();
    this.state = state;
    const ahead = startAhead(state, effects);
    if (ahead) {
      this.perform(ahead);
      this.point();
    }
    this.saved = { ...state, gate: CLOSED_GATE };
    this.log.push(...effects.flatMap((effect) => (effect.type === 'emit' ? [effect.event] : [])));
    this.retire();
    for (const effect of effects) {
      if (effect.type === 'emit' || effect === ahead) continue;
      this.point();
      this.perform(effect);
    }
  }

  private run() {
    for (let next = this.pending.shift(); next; next = this.pending.shift()) {
      if (typeof next === 'function') next();
      else this.dispatch(next);
    }
  }

  private perform(effect: SessionEffect) {
    switch (effect.type) {
      case 'start_agent':
        if (this.alive) throw new Error('two agents on one session');
        this.alive = true;
        this.stdinClosed = false;
        this.starts += 1;
        return this.agentStarts(effect.resume !== undefined);
      case 'write_line':
        return this.agentReads(effect.line);
      case 'reply':
        return this.agentGets(effect);
      case 'end_agent':
      case 'kill_agent':
        if (!this.alive && this.kills > 0) return;
        if (!this.alive) throw new Error('an agent that is gone is ended');
        this.alive = false;
        this.held = undefined;
        this.unread = undefined;
        this.pending.push({ type: 'agent_exited', reason: 'ended' });
        return;
      case 'check_deferred': {
        const found = this.transcript.parked?.toolCallId === effect.call.toolCallId;
        this.pending.push({ type: 'deferred_checked', found });
        return;
      }
      case 'check_marker':
        this.pending.push({ type: 'parked', resumable: this.transcript.parked?.toolCallId === effect.call.toolCallId });
        return;
      case 'check_line':
        this.pending.push({
          type: 'line_checked',
          trace: this.transcript.lines.get(lineUuid(effect.line)) ?? 'absent',
        });
        return;
      case 'check_taken': {
        const { lines } = effect;
        const lost = lines.filter(({ uuid }) => !this.transcript.lines.has(uuid));
        this.pending.push({ type: 'taken_checked', lines, lost });
        return;
      }
      case 'check_answer': {
        const result = this.transcript.results.get(effect.call.toolCallId);
        const carries = JSON.stringify(result?.verdict) === JSON.stringify(effect.verdict);
        this.pending.push({ type: 'answer_checked', trace: result?.trace ?? 'absent', carries });
        return;
      }
      case 'set_timer':
        // A hook that will not come: the watchdog is the only thing left to happen.
        if (effect.name === 'hook_silent' && !this.held) this.pending.push({ type: 'timer', name: 'hook_silent' });
        return;
      default:
        return;
    }
  }

  // ---- the agent, as measured --------------------------------------------------------------

  private agentStarts(resumed: boolean) {
    const { parked } = this.transcript;
    this.pending.push({ type: 'initialized', claudeSessionId: 'c1', hasQuestionTool: true });
    if (!resumed || !parked || this.options.hooksSilentOnResume) return;
    const fireId = `fire-${this.newId()}`;
    this.held = { fireId, toolCallId: parked.toolCallId, resumed: true };
    this.pending.push({ type: 'hook_fired', fireId, toolCallId: parked.toolCallId, input: TOOL_INPUT });
  }

  private agentReads(line: Line) {
    if (!this.alive) return;
    const uuid = lineUuid(line);
    // The resumed call comes first; the line is read when its turn is over.
    if (this.held?.resumed) {
      this.unread = line;
      return;
    }
    // A line it has already is ignored for ever.
    if (this.transcript.lines.has(uuid)) return;
    // What is in the conversation's file is in every later request.
    const text = this.textOf(line);
    this.transcript.lines.set(uuid, 'unfinished');
    this.told.push(text);
    this.busyTurn = uuid;
    if (!this.lives()) return;
    const messageId = `m-${this.newId()}`;
    const echo: SessionInput = { type: 'line_taken', uuid };
    const first: SessionInput = { type: 'message_started', messageId };
    this.pending.push(...(this.options.echoesFirst ? [echo, first] : [first, echo]), { type: 'message_seen' });
    if (text.includes('ASK')) return this.agentAsks(messageId);
    this.agentFinishes();
  }

  private textOf(line: Line): string {
    if (line.type === 'prompt') return promptText(line.prompt);
    if (line.type === 'continuation') return 'go on';
    const { question } = this.state;
    return question.status === 'answering' ? say(question.verdict) : '';
  }

  private agentAsks(messageId: string) {
    const toolCallId = `q-${this.newId()}`;
    this.transcript.parked = undefined;
    const fireId = `fire-${this.newId()}`;
    this.held = { fireId, toolCallId, resumed: false };
    const fired: SessionInput = { type: 'hook_fired', fireId, toolCallId, input: TOOL_INPUT };
    const stream: SessionInput[] = [
      { type: 'call_seen', messageId, toolCallId, toolName: 'AskUserQuestion' },
      { type: 'message_stopped' },
    ];
    // The hook and the stream are two channels: either may be first.
    this.pending.push(...stream.toSpliced(this.options.hookArrives ?? 1, 0, fired));
  }

  private agentFinishes() {
    if (!this.lives()) return;
    if (this.busyTurn) this.transcript.lines.set(this.busyTurn, 'finished');
    this.pending.push({ type: 'message_stopped' });
    this.pending.push(toResult({}));
  }

  private agentGets(effect: Extract<SessionEffect, { type: 'reply' }>) {
    const { held } = this;
    const { fireId } = effect.fire;
    this.replies.set(fireId, (this.replies.get(fireId) ?? 0) + 1);
    if (!held || held.fireId !== effect.fire.fireId || this.stdinClosed) return;
    this.held = undefined;
    const { toolCallId } = held;
    switch (effect.reply.type) {
      case 'defer':
        this.transcript.parked = { toolCallId, marker: true };
        if (this.busyTurn) this.transcript.lines.set(this.busyTurn, 'finished');
        if (!this.lives()) return;
        this.pending.push(toResult({ deferred: { toolCallId, toolName: 'AskUserQuestion' } }));
        return;
      case 'deny':
      case 'verdict': {
        const { reply } = effect;
        const verdict = reply.type === 'verdict' ? reply.verdict : 'denied';
        const text = reply.type === 'verdict' ? say(reply.verdict) : 'denied';
        const writeDown = () => {
          this.transcript.parked = undefined;
          this.transcript.results.set(toolCallId, { verdict, trace: 'unfinished' });
          if (reply.type === 'verdict') this.told.push(text);
        };
        const late = this.options.writesLate && held.resumed;
        if (!late) writeDown();
        if (!this.lives()) return;
        const isError = reply.type === 'deny' || reply.verdict.type.startsWith('denied');
        this.pending.push({ type: 'call_result', toolCallId, isError, text: toResultWords(reply, text) });
        if (late) {
          this.pending.push(writeDown, () => this.goOn(toolCallId, verdict, text));
          return;
        }
        return this.goOn(toolCallId, verdict, text);
      }
    }
  }

  /** The model's reply to a call's result. */
  private goOn(toolCallId: string, verdict: Verdict | 'denied', text: string) {
    const messageId = `m-${this.newId()}`;
    this.pending.push({ type: 'message_started', messageId }, { type: 'message_seen' });
    if (text.includes('ASK')) return this.agentAsks(messageId);
    if (!this.lives()) return;
    this.transcript.results.set(toolCallId, { verdict, trace: 'finished' });
    this.pending.push({ type: 'message_stopped' });
    this.pending.push(toResult({}));
    const { unread } = this;
    this.unread = undefined;
    if (unread) this.agentReads(unread);
  }

  private newId(): string {
    this.ids += 1;
    return `${this.crashes}.${this.ids}`;
  }
}

function toResultWords(reply: { type: 'deny' } | { type: 'verdict'; verdict: Verdict }, text: string): string {
  if (reply.type === 'deny') return text;
  return reply.verdict.type === 'denied' ? toDismissalReason(reply.verdict.reason) : text;
}

/** What the model reads; unique to a verdict, so that a test can count it. */
export function say(verdict: Verdict): string {
  switch (verdict.type) {
    case 'answer':
      return `answer ${verdict.answers['Q?']?.join() ?? ''}`;
    case 'superseded':
    case 'denied_then_prompt':
      return verdict.text;
    case 'denied':
      return `declined ${verdict.reason}`;
  }
}

function toResult(more: { deferred?: { toolCallId: string; toolName: string } }): SessionInput {
  return {
    type: 'turn_result',
    ok: true,
    poisoned: false,
    unknownSession: false,
    toolUnavailable: false,
    empty: false,
    ...more,
  };
}
