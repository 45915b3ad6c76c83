// The shell of one session: takes inputs one at a time, saves what the core decides, then does it.
// Everything with an effect is behind one of its parts: journal, link, agent, hooks, transcript.

import { randomUUID } from 'node:crypto';
import { assertNever, type HarnessAssignment, type HarnessEvent, isStoredEvent } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { type AgentRunner, createAgentRunner } from './agent-runner.js';
import { backgroundNotice, followTasks, NO_TASKS } from './background-tasks.js';
import type { ClaudeMessage } from './claude-message.js';
import type { AgentExit } from './claude-process.js';
import type { HarnessConfig } from './config.js';
import { type Conversation, createConversation } from './conversation.js';
import { endOrphan } from './end-processes.js';
import { HarnessError } from './harness-error.js';
import { type HookPort, type HookRequest, type HookServer, openHookServer } from './hook-server.js';
import { type HostLink, openHostLink } from './host-link.js';
import { createHostWatch, type HostWatch } from './host-watch.js';
import { type Journal, openJournal } from './journal.js';
import { LogTeller } from './log-teller.js';
import { GO_ON, lineUuid, promptText } from './prompt-line.js';
import { createReplyDesk, type ReplyDesk } from './reply-desk.js';
import type { Line } from './run-state.js';
import { logChange, startAhead, toChange } from './session-changes.js';
import {
  recover,
  type SessionEffect,
  type SessionInput,
  type SessionState,
  type SessionStep,
  step,
} from './session-core.js';
import { toSessionInputs } from './stream-inputs.js';
import { createTimers, type Timers } from './timers.js';
import { createTranscriptChecks, type TranscriptChecks } from './transcript-checks.js';
import { toVerdictMessage } from './verdict-reply.js';

export type SessionEnd = 'shutdown' | 'stale_epoch' | 'host_unreachable';

export interface SessionOptions {
  readonly assignment: HarnessAssignment;
  readonly config: HarnessConfig;
  /** Bound ahead for the agent's hooks. */
  readonly hookPort: HookPort;
  readonly log: Logger;
  readonly onEnd: (end: SessionEnd) => void;
}

export async function openSession(options: SessionOptions): Promise<void> {
  const { assignment, log } = options;
  const orphan = await endOrphan(assignment.state_dir);
  if (orphan === 'stays') throw new HarnessError('agent_still_there', 'an agent of this session cannot be ended');
  if (orphan === 'ended') log.warn('ended an agent that an earlier harness left behind');
  const journal = openJournal(assignment.state_dir);
  const session = new Session(options, journal);
  await session.open(orphan === 'ended' || journal.state.agent !== 'absent');
}

class Session {
  private readonly options: SessionOptions;
  private readonly log: Logger;
  private readonly journal: Journal;
  private readonly agent: AgentRunner;
  private readonly checks: TranscriptChecks;
  private readonly conversation: Conversation;
  private readonly teller: LogTeller;
  private readonly timers: Timers;
  private readonly desk: ReplyDesk;
  private hooks: HookServer | undefined;
  private link: HostLink | undefined;
  private state: SessionState;
  private saved: SessionState;
  private readonly queue: SessionInput[] = [];
  private busy = false;
  private messageId = '';
  private tasks = NO_TASKS;
  private toldTasks = '';
  private readonly watch: HostWatch;
  private ending: SessionEnd | undefined;

  constructor(options: SessionOptions, journal: Journal) {
    const { assignment, config, log } = options;
    this.options = options;
    this.log = log;
    this.journal = journal;
    this.state = journal.state;
    this.saved = journal.state;
    this.checks = createTranscriptChecks(assignment, log);
    this.conversation = createConversation(assignment, log);
    this.teller = new LogTeller(assignment.workspace, assignment.state_dir);
    this.timers = createTimers(
      {
        hold: assignment.hold_ms,
        hook_silent: config.hookSilenceMs,
        interrupt: config.interruptMs,
        gate: config.gateMs,
        blocked: config.blockedMs,
      },
      (name) => this.dispatch({ type: 'timer', name }),
    );
    this.agent = createAgentRunner({
      assignment,
      bridgeArgv: config.bridgeArgv,
      hookWay: config.hookWay,
      hookPort: () => this.hooks?.port ?? 0,
      onMessage: (message) => this.onMessage(message),
      onExit: (exit) => {
        if (exit.code === 0) return this.onExit(exit);
        // Before anything can start the next one.
        void this.conversation.mendEnd(this.state.claudeSessionId).then(() => this.onExit(exit));
      },
      log,
    });
    this.watch = createHostWatch({
      settleMs: config.settleMs,
      unreachableMs: config.unreachableMs,
      onSettled: () => {
        if (!this.state.settled) this.dispatch({ type: 'settled' });
      },
      onUnreachable: () => this.endWith('host_unreachable'),
    });
    this.desk = createReplyDesk({
      agent: this.agent,
      hooks: () => this.hooks,
      onQuestion: (toolCallId) => this.teller.questionNoted(toolCallId),
      holdMs: assignment.hold_ms,
      log,
    });
  }

  /** No agent starts before the conversation is in order. `cut`: nobody saw the last one leave. */
  async open(cut: boolean): Promise<void> {
    const { assignment } = this.options;
    const prepared = this.conversation.prepare(this.state, cut);
    this.hooks = await openHookServer({
      bound: this.options.hookPort,
      token: () => this.agent.token,
      socketPath: assignment.hook_socket,
      onFire: (request) => this.onFire(request),
      onLost: (fireId) => this.dispatch({ type: 'fire_lost', fireId }),
    });
    this.agent.prepare();
    await prepared;
    const known = this.state.claudeSessionId ?? assignment.claude_session_id;
    const restored = known === undefined ? this.state : { ...this.state, claudeSessionId: known };
    this.take(recover(restored, newRunId()));
    // What comes first over the link is known already: its agent starts while we attach.
    const { ahead } = assignment;
    if (ahead) this.dispatch({ type: 'command', command: { type: 'attend_question', ...ahead } });
    this.watch.lost();
    this.link = openHostLink({
      socketPath: assignment.socket_path,
      journal: this.journal,
      attach: () => ({
        session_id: assignment.session_id,
        harness_version: this.options.config.version,
        attach_token: assignment.secret,
        epoch: assignment.epoch,
        last_event_seq: this.journal.lastSeq,
      }),
      onAttached: () => this.watch.attached(),
      onLost: () => this.watch.lost(),
      onStale: () => this.endWith('stale_epoch'),
      onCommand: (command) => {
        if (command.type === 'unknown') return this.log.warn({ index: command.index }, 'command of a newer host');
        this.watch.commandSeen();
        this.log.debug({ command: command.type }, 'command');
        this.dispatch({ type: 'command', command });
      },
      log: this.log,
    });
  }

  // ---- one input at a time -----------------------------------------------------------------

  dispatch(input: SessionInput) {
    this.queue.push(input);
    if (this.busy) return;
    this.busy = true;
    try {
      for (let next = this.queue.shift(); next; next = this.queue.shift())
        this.take(step(this.state, next, newRunId()));
    } finally {
      this.busy = false;
    }
  }

  private take({ state, effects }: SessionStep) {
    const before = this.state;
    this.state = state;
    const events = effects.flatMap((effect) => (effect.type === 'emit' ? [effect.event] : []));
    const ahead = startAhead(state, effects);
    if (ahead) this.perform(ahead);
    const change = toChange(this.saved, state);
    const numbered = this.journal.append(events, change === 'none' ? undefined : state, change === 'vital');
    if (change !== 'none') this.saved = state;
    logChange(this.log, before, state);
    this.link?.sendStored(numbered);
    for (const effect of effects) if (effect !== ahead) this.perform(effect);
    this.tryEnd();
  }

  private perform(effect: SessionEffect) {
    const { claudeSessionId } = this.state;
    switch (effect.type) {
      case 'emit':
        return;
      case 'start_agent':
        this.teller.agentStarted();
        this.tasks = NO_TASKS;
        this.toldTasks = '';
        this.messageId = '';
        return this.agent.start(effect.resume);
      case 'end_agent':
        this.tellTasks();
        return this.agent.end();
      case 'kill_agent':
        return this.agent.kill();
      case 'write_line':
        return this.agent.writePrompt(lineUuid(effect.line), this.textOf(effect.line));
      case 'send_interrupt':
        return this.agent.interrupt();
      case 'reply':
        // A question that we take back hides nothing of what the model says next.
        if (effect.reply.type === 'deny' && this.state.question.status === 'none') this.teller.textResumed();
        return this.desk.reply(effect.fire, effect.reply);
      case 'allow_tool':
        return this.desk.allow(effect.requestId, effect.toolName);
      case 'check_deferred':
        return this.report(this.checks.isDeferred(claudeSessionId, effect.call), false, (found) => ({
          type: 'deferred_checked',
          found,
        }));
      case 'check_marker':
        return this.report(this.checks.isResumable(claudeSessionId, effect.call, effect.mend), false, (resumable) => ({
          type: 'parked',
          resumable,
        }));
      case 'check_answer':
        return this.report(
          this.checks.answerOf(claudeSessionId, effect.call, effect.verdict),
          { trace: 'absent', carries: false },
          (found) => ({ type: 'answer_checked', ...found }),
        );
      case 'check_line':
        return this.report(this.checks.traceOf(claudeSessionId, lineUuid(effect.line)), 'absent', (trace) => ({
          type: 'line_checked',
          trace,
        }));
      case 'check_taken': {
        const { lines } = effect;
        return this.report(this.checks.absentOf(claudeSessionId, lines), [], (lost) => ({
          type: 'taken_checked',
          lines,
          lost,
        }));
      }
      case 'set_timer':
        return this.timers.set(effect.name, effect.ms);
      case 'clear_timer':
        return this.timers.clear(effect.name);
      case 'acknowledged':
        return this.journal.acknowledge(effect.storedSeq);
      case 'rehandshake':
        return this.link?.reconnect();
      case 'exit':
        setTimeout(() => this.agent.kill(), effect.graceSecs * 1000).unref();
        this.ending = 'shutdown';
        return;
      default:
        return assertNever(effect);
    }
  }

  /** A check that fails says what is safe: a file that cannot be read proves nothing. */
  private report<T>(check: Promise<T>, failed: NoInfer<T>, toInput: (found: T) => SessionInput) {
    check.then(
      (found) => this.dispatch(toInput(found)),
      (error: unknown) => {
        this.log.error({ err: error }, 'transcript cannot be read');
        this.dispatch(toInput(failed));
      },
    );
  }

  private textOf(line: Line): string {
    if (line.type === 'prompt') return promptText(line.prompt);
    if (line.type === 'continuation') return GO_ON;
    const { question } = this.state;
    return question.status === 'answering' ? toVerdictMessage(question.call, question.verdict) : '';
  }

  // ---- the agent ---------------------------------------------------------------------------

  private onMessage(message: ClaudeMessage) {
    if (message.type === 'control_request') {
      const input = this.desk.requested(message);
      return input ? this.dispatch(input) : undefined;
    }
    this.tasks = followTasks(this.tasks, message);
    const { messageId, inputs } = toSessionInputs(message, this.messageId);
    this.messageId = messageId;
    // A turn may fail before the model said a word; its run is opened first, as it is told as failed.
    const endsTurn = inputs.some((input) => input.type === 'turn_result' && !input.empty && !input.unknownSession);
    if (endsTurn && this.state.runs.turn.status === 'sent') this.dispatch({ type: 'message_seen' });
    // A result's usage and failure belong before the end of its run.
    if (message.type === 'result') this.tellLine(message);
    for (const input of inputs) this.dispatch(input);
    if (message.type !== 'result') this.tellLine(message);
    this.tellBackground();
  }

  private tellLine(message: ClaudeMessage) {
    const { turn } = this.state.runs;
    if (turn.status !== 'sent' || !turn.opening) return this.tell(this.teller.tell(message, this.runId()));
    // Whose turn it is, is not known yet: its words are shown as they come, and stored with its run.
    const events = this.teller.tell(message, turn.opening.runId);
    this.tell(events.filter((event) => !isStoredEvent(event)));
  }

  private onFire(request: HookRequest) {
    const input = this.desk.fired(request);
    if (input) this.dispatch(input);
  }

  private onExit(exit: AgentExit) {
    const tail = exit.stderrTail === '' ? '' : `: ${exit.stderrTail.slice(-1000)}`;
    const how = exit.startError ?? (exit.signal === null ? `exit code ${exit.code}` : exit.signal);
    const reason = `The agent ended while it worked (${how})${tail}`;
    this.desk.clear();
    const { turn } = this.state.runs;
    const asks = this.state.question.status === 'deferring';
    if (turn.status === 'running' && !asks)
      this.tell(this.teller.cutOff(turn.runId, 'The agent ended before this was done.'));
    this.dispatch({ type: 'agent_exited', reason, clean: exit.code === 0 });
  }

  /** A host lets the session stay awake for it, within bounds. Beside a waiting question it does not count. */
  private tellBackground() {
    if (this.runId() !== undefined) this.toldTasks = '';
    if (this.runId() !== undefined || this.state.question.status !== 'none') return;
    const { told, notice } = backgroundNotice(this.toldTasks, this.tasks);
    this.toldTasks = told;
    if (notice !== undefined) this.tell([notice]);
  }

  /** What the agent left running ends with it. */
  private tellTasks() {
    if (this.tasks.size === 0) return;
    const message = `Stopped together with the agent: ${[...this.tasks.values()].join(', ')}`;
    this.tell([{ type: 'notice', level: 'warning', code: 'background_stopped', message }]);
    this.tasks = NO_TASKS;
    this.toldTasks = '';
  }

  private runId(): string | undefined {
    const { turn } = this.state.runs;
    return turn.status === 'running' ? turn.runId : undefined;
  }

  /** Events that change no state: chunks go out unsaved, all else is saved first. */
  private tell(events: readonly HarnessEvent[]) {
    const stored = events.filter(isStoredEvent);
    for (const event of events) if (!isStoredEvent(event)) this.link?.send(event);
    if (stored.length > 0) this.link?.sendStored(this.journal.append(stored, undefined, false));
  }

  // ---- the host ----------------------------------------------------------------------------

  private endWith(end: SessionEnd) {
    this.log.warn({ end }, 'session ends here');
    this.ending = end;
    this.dispatch({ type: 'command', command: { type: 'checkpoint', reason: 'preempt' } });
  }

  private tryEnd() {
    const { ending } = this;
    const { agent, question, runs } = this.state;
    if (ending === undefined || agent !== 'absent') return;
    if (question.status === 'parking' || question.status === 'deferring' || runs.turn.status !== 'none') return;
    this.ending = undefined;
    void this.close(ending);
  }

  private async close(end: SessionEnd): Promise<void> {
    this.timers.clearAll();
    this.watch.stop();
    const until = Date.now() + 1000;
    while (this.link?.attached && this.journal.unacknowledged > 0 && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await this.link?.flushed();
    this.link?.close();
    await this.hooks?.close();
    this.journal.close();
    this.options.onEnd(end);
  }
}

function newRunId(): string {
  return `run_${randomUUID()}`;
}
