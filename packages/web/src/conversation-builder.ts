// Events of a log, one after another, to the rows of a conversation: what belongs together becomes one
// row, whatever the order it came in. Pure but for its own lists; build-messages.ts makes one per log.

import type { Attachment, LogEvent, SessionStatus } from './api-types.js';
import type { PromptRow, Row, RunRow, RunState, ToolRow } from './conversation-rows.js';
import { textOfEdit } from './prompt-queue.js';
import type { QuestionCard } from './question-cards.js';
import type { Truncation } from './wire-types.js';

/** What the store itself cut counts like what the agent's side cut: the row must not look whole. */
function cutByStore({ droppedBytes }: LogEvent): Truncation | undefined {
  return droppedBytes === undefined ? undefined : { dropped_hunks: 0, dropped_bytes: droppedBytes };
}

interface Prompt {
  text: string;
  readonly by: PromptRow['by'];
  readonly attachments: readonly Attachment[];
}

type Draft<T> = { -readonly [K in keyof T]: T[K] };

export class ConversationBuilder {
  readonly rows: Row[] = [];
  readonly runs = new Map<string, Draft<RunRow>>();
  readonly tools = new Map<string, Draft<ToolRow>>();
  readonly changedBy = new Set<string>();
  readonly storedText = new Map<string, string>();
  readonly prompts = new Map<string, Prompt>();
  /** Rows of prompts that are next to run. */
  readonly placed = new Map<string, Draft<PromptRow>>();
  readonly promptTexts = new Set<string>();
  status: SessionStatus | undefined;
  deleted = false;

  constructor(
    readonly cards: ReadonlyMap<string, QuestionCard>,
    /** The log is held from its first event on. */
    readonly whole: boolean,
  ) {}

  add(entry: LogEvent): void {
    const { event, idx, at } = entry;
    const key = `e${idx}`;
    switch (event.type) {
      case 'session_created':
      case 'harness_idle':
      case 'prompt_queued':
      case 'answer_submitted':
      case 'answer_failed':
        return;
      case 'session_deleted':
        this.deleted = true;
        return;
      case 'status_changed':
        this.status = event.to;
        return;
      case 'prompt_received':
        if (this.prompts.has(event.prompt_id)) return;
        this.receivePrompt(event, key, at);
        return;
      case 'prompt_edited': {
        const prompt = this.prompts.get(event.prompt_id);
        if (prompt === undefined) return;
        prompt.text = textOfEdit(event, prompt.attachments.length) ?? prompt.text;
        const row = this.placed.get(event.prompt_id);
        if (row !== undefined) row.text = prompt.text;
        return;
      }
      case 'prompt_dequeued':
        this.prompts.delete(event.prompt_id);
        this.unplacePrompt(event.prompt_id);
        return;
      case 'run_started':
        this.startRun(event.run_id, event.prompt_id, event.prompt_summary, key, at);
        return;
      case 'run_completed':
        this.endRun(event.run_id, event.ok ? 'done' : 'failed', at);
        return;
      case 'run_interrupted':
        this.endRun(event.run_id, 'interrupted', at);
        return;
      case 'agent_message': {
        const stored = this.storedText.get(event.message_id);
        if (stored?.includes(event.text)) return;
        this.storedText.set(event.message_id, (stored ?? '') + event.text);
        if (event.role === 'user' && this.promptTexts.has(event.text)) return;
        this.rows.push({
          kind: 'message',
          key,
          runId: event.run_id,
          role: event.role,
          text: event.text,
          cutBytes: event.truncated_bytes ?? 0,
          live: false,
        });
        return;
      }
      case 'agent_thought':
        this.rows.push({
          kind: 'thought',
          key,
          runId: event.run_id,
          text: event.text,
          cutBytes: event.truncated_bytes ?? 0,
        });
        return;
      case 'tool_call_started':
      case 'tool_call_completed':
        this.addTool(event, key);
        return;
      case 'file_changed':
        this.changedBy.add(event.tool_call_id);
        this.rows.push({
          kind: 'change',
          key,
          idx,
          runId: event.run_id,
          path: event.path,
          change: event.change,
          truncation: event.truncation ?? cutByStore(entry),
        });
        return;
      case 'user_question':
      case 'question_answered':
      case 'question_dismissed':
        this.placeCard(event.tool_call_id, idx, key, event.run_id ?? '');
        return;
      case 'usage': {
        const run = this.runs.get(event.run_id);
        if (run === undefined) return;
        run.outputTokens = (run.outputTokens ?? 0) + event.output_tokens;
        if (event.cost_micro_usd !== undefined) run.costMicroUsd = (run.costMicroUsd ?? 0) + event.cost_micro_usd;
        return;
      }
      case 'notice':
        this.rows.push({ kind: 'notice', key, level: event.level, code: event.code, message: event.message, at });
        return;
      case 'session_error':
        this.rows.push({ kind: 'notice', key, level: 'error', code: event.code, message: event.message, at });
        return;
      case 'unrecognised':
        this.rows.push({ kind: 'unrecognised', key, name: event.name, fields: event.fields });
        return;
    }
  }

  private startRun(runId: string, promptId: string | undefined, summary: string | undefined, key: string, at: string) {
    if (this.runs.has(runId)) return;
    const placed = promptId === undefined ? undefined : this.placed.get(promptId);
    const prompt = promptId === undefined ? undefined : this.prompts.get(promptId);
    const text = prompt?.text ?? (promptId === undefined ? undefined : summary);
    if (text !== undefined) this.promptTexts.add(text);
    if (placed !== undefined && promptId !== undefined) {
      placed.pending = undefined;
      this.placed.delete(promptId);
    } else if (text !== undefined) {
      const { by, attachments = [] } = prompt ?? {};
      this.rows.push({ kind: 'prompt', key: `${key}p`, text, by, at, attachments, pending: undefined });
    }
    // What was thought to be next is not: it waits for this run and stands in the queue.
    for (const id of [...this.placed.keys()]) this.unplacePrompt(id);
    const run: Draft<RunRow> = {
      kind: 'run',
      key,
      runId,
      number: this.whole ? this.runs.size + 1 : undefined,
      state: 'open',
      tools: 0,
      failedTools: 0,
      startedAt: at,
      endedAt: undefined,
      continuesAnswer: promptId === undefined,
      costMicroUsd: undefined,
      outputTokens: undefined,
    };
    this.runs.set(runId, run);
    this.rows.push(run);
  }

  /** A prompt that meets no open run stands where it was sent; any other waits in the queue. */
  private receivePrompt(event: Extract<LogEvent['event'], { type: 'prompt_received' }>, key: string, at: string) {
    const { prompt_id: promptId, text, by, attachments = [] } = event;
    this.prompts.set(promptId, { text, by, attachments });
    if (this.placed.size > 0 || [...this.runs.values()].some((run) => run.state === 'open')) return;
    const row: Draft<PromptRow> = { kind: 'prompt', key, text, by, at, attachments, pending: 'waking' };
    this.placed.set(promptId, row);
    this.rows.push(row);
  }

  private unplacePrompt(promptId: string) {
    const row = this.placed.get(promptId);
    if (row === undefined) return;
    this.placed.delete(promptId);
    this.rows.splice(this.rows.lastIndexOf(row), 1);
  }

  private endRun(runId: string, state: RunState, at: string) {
    const run = this.runs.get(runId);
    if (run === undefined) return;
    run.state = state;
    run.endedAt = at;
    for (const tool of this.tools.values()) {
      if (tool.runId === runId && tool.state === 'running') tool.state = 'no_result';
    }
  }

  private addTool(
    event: Extract<LogEvent['event'], { type: 'tool_call_started' | 'tool_call_completed' }>,
    key: string,
  ) {
    let tool = this.tools.get(event.tool_call_id);
    if (tool === undefined) {
      tool = {
        kind: 'tool',
        key,
        runId: event.run_id,
        toolCallId: event.tool_call_id,
        name: event.tool_name,
        args: undefined,
        argsCutBytes: 0,
        result: undefined,
        resultCutBytes: 0,
        images: [],
        durationMs: undefined,
        state: 'running',
        ofSubagent: false,
      };
      this.tools.set(event.tool_call_id, tool);
      this.rows.push(tool);
      const run = this.runs.get(event.run_id);
      if (run !== undefined && !this.cards.has(event.tool_call_id)) run.tools += 1;
    }
    if (event.type === 'tool_call_started') {
      tool.args ??= event.args_summary;
      tool.argsCutBytes ||= event.truncated_bytes ?? 0;
      tool.ofSubagent ||= event.parent_tool_call_id !== undefined;
      return;
    }
    if (tool.state === 'ok' || tool.state === 'error') return;
    tool.state = event.ok ? 'ok' : 'error';
    tool.result = event.result_summary;
    tool.resultCutBytes = event.truncated_bytes ?? 0;
    tool.images = event.images ?? [];
    tool.durationMs = event.duration_ms;
    const run = this.runs.get(tool.runId);
    if (run !== undefined && !event.ok) run.failedTools += 1;
  }

  /** The card stands where it was asked; only a card whose question is unknown stands at its answer. */
  private placeCard(toolCallId: string, idx: number, key: string, runId: string) {
    const card = this.cards.get(toolCallId);
    if (card !== undefined && card.idx === idx) this.rows.push({ kind: 'question', key, runId, card });
  }

  /** A question's card and a successful edit's change rows stand for their tool call. */
  finish(): readonly Row[] {
    return this.rows.filter((row) => {
      if (row.kind !== 'tool') return true;
      if (this.cards.has(row.toolCallId)) return false;
      return !(this.changedBy.has(row.toolCallId) && row.state === 'ok');
    });
  }
}
