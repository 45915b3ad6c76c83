// What the agent's messages mean to a reader: ClaudeMessage → HarnessEvents. Pure reducer, one state
// per agent process.
//
//   let state = initialTranslateState({ workspace });
//   ({ state, events } = translate(state, message, { nowMs, runId }));
//
// It tells messages, thoughts, chunks, tool calls, file changes, usage and notices. It never tells the life of
// a run or of a question: run_*, user_question, question_* are the session's.
//
// Questions. A question-tool call has no generic card. The session calls `noteQuestions` for every
// call whose hook fired or that it knows as parked; an error result of a noted call (placeholder,
// denial) is then its business. An error result of a call that was not noted means that the CLI
// refused the call: it is told as an ordinary failed tool call.
//
// Suppression. From a question-tool call of the main conversation on, text is not told (an agent
// that talks on although nobody answered); text before the call is. It ends when every such call has
// an answer or was refused by the CLI, or when the session calls `resumeText` (new run, denial).
//
// A subagent's tool calls are told with their parent; its texts are not: they are the parent call's
// result. Message ids: the API message id for a message's first text block, `<id>:2` and so on for
// more; chunks and the full message carry the same id.

import type { HarnessEvent, ResultImage } from '@engram/harness-proto';
import { assertNever } from '@engram/harness-proto';
import type {
  ApiError,
  ClaudeAssistant,
  ClaudeMessage,
  ClaudeResult,
  ClaudeStreamEvent,
  ClaudeUser,
  ToolResultBlock,
  ToolUseBlock,
} from './claude-message.js';
import { isFileTool, toFileChanged } from './file-changes.js';
import { QUESTION_TOOL } from './question-input.js';
import { noticeOfResult, noticeOfSystem, usageOfResult } from './result-events.js';
import { toReferences } from './result-images.js';
import { CHUNK_BYTES, cutText, MESSAGE_TEXT_BYTES, RESULT_SUMMARY_BYTES, splitText } from './text-caps.js';
import { summarizeArgs } from './tool-summary.js';

export interface TranslateFacts {
  readonly nowMs: number;
  readonly runId: string;
}

interface OpenCall {
  readonly name: string;
  readonly parent: string | undefined;
  readonly startedMs: number;
  /** Kept for file tools and questions only. */
  readonly input: unknown;
}

/** Text blocks of one API message, to give chunks and full texts the same ids. */
interface TextBlocks {
  readonly messageId: string;
  readonly count: number;
  /** The block whose deltas are being told. */
  readonly index: number | undefined;
}

export interface TranslateState {
  readonly workspace: string;
  readonly openCalls: ReadonlyMap<string, OpenCall>;
  readonly questions: ReadonlySet<string>;
  /** Question-tool calls after which text is not told; empty = all text is told. */
  readonly suppressedBy: ReadonlySet<string>;
  readonly streamed: TextBlocks | undefined;
  readonly told: TextBlocks | undefined;
  readonly apiError: ApiError | undefined;
  readonly totalCostUsd: number;
}

export interface Translation {
  readonly state: TranslateState;
  readonly events: readonly HarnessEvent[];
}

export function initialTranslateState(options: { readonly workspace: string }): TranslateState {
  return {
    workspace: options.workspace,
    openCalls: new Map(),
    questions: new Set(),
    suppressedBy: new Set(),
    streamed: undefined,
    told: undefined,
    apiError: undefined,
    totalCostUsd: 0,
  };
}

/** These calls are questions of the session's: their results are told by it alone. */
export function noteQuestions(state: TranslateState, toolCallIds: readonly string[]): TranslateState {
  return { ...state, questions: new Set([...state.questions, ...toolCallIds]) };
}

/** Tell texts again from here on. */
export function resumeText(state: TranslateState): TranslateState {
  return { ...state, suppressedBy: new Set() };
}

/** A call whose tool_use line an earlier process printed: its result can then be told in full. */
export function adoptCall(state: TranslateState, call: ToolUseBlock, nowMs: number): TranslateState {
  return withCall(state, call.id, { name: call.name, parent: undefined, startedMs: nowMs, input: call.input });
}

/** The process is gone or the turn was cut: ends what is still open, each call as failed with `reason`. */
export function closeOpenCalls(state: TranslateState, facts: TranslateFacts, reason: string): Translation {
  const events: HarnessEvent[] = [];
  for (const [id, call] of state.openCalls) {
    if (call.name === QUESTION_TOOL) continue;
    events.push(completed(id, call, { ok: false, content: reason }, facts));
  }
  return { state: { ...state, openCalls: new Map() }, events };
}

export function translate(state: TranslateState, message: ClaudeMessage, facts: TranslateFacts): Translation {
  switch (message.type) {
    case 'stream_event':
      return translateStreamEvent(state, message, facts);
    case 'assistant':
      return translateAssistant(state, message, facts);
    case 'user':
      return translateUser(state, message, facts);
    case 'result':
      return translateResult(state, message, facts);
    case 'system': {
      const notice = noticeOfSystem(message, facts.runId);
      return { state, events: notice ? [notice] : [] };
    }
    case 'init':
    case 'control_request':
    case 'control_cancel_request':
    case 'control_response':
    case 'ignored':
    case 'noise':
      return { state, events: [] };
    default:
      return assertNever(message);
  }
}

function translateStreamEvent(state: TranslateState, message: ClaudeStreamEvent, facts: TranslateFacts): Translation {
  const { event } = message;
  if (message.parent_tool_use_id !== undefined) return { state, events: [] };
  switch (event.type) {
    case 'message_start':
      return { state: { ...state, streamed: { messageId: event.message_id, count: 0, index: undefined } }, events: [] };
    case 'tool_use_start':
      return { state: event.name === QUESTION_TOOL ? suppressed(state, event.id) : state, events: [] };
    case 'text_delta': {
      const messageId = message.message_id ?? state.streamed?.messageId;
      if (messageId === undefined || state.suppressedBy.size > 0) return { state, events: [] };
      const before = state.streamed?.messageId === messageId ? state.streamed : undefined;
      const isNew = before?.index !== event.index;
      // A block of white space alone never becomes a message; it must not take an id.
      if (isNew && event.text.trim() === '') return { state, events: [] };
      const streamed = isNew ? { messageId, count: (before?.count ?? 0) + 1, index: event.index } : before;
      const id = textId(messageId, streamed.count);
      const events = splitText(event.text, CHUNK_BYTES).map(
        (chunk): HarnessEvent => ({ type: 'agent_message_chunk', run_id: facts.runId, message_id: id, chunk }),
      );
      return { state: { ...state, streamed }, events };
    }
    case 'block_start':
    case 'thinking_delta':
    case 'block_stop':
    case 'message_delta':
    case 'message_stop':
      return { state, events: [] };
    default:
      return assertNever(event);
  }
}

function translateAssistant(state: TranslateState, message: ClaudeAssistant, facts: TranslateFacts): Translation {
  if (message.api_error) return { state: { ...state, apiError: message.api_error }, events: [] };
  if (message.synthetic) return { state, events: [] };
  const events: HarnessEvent[] = [];
  let next = state;
  for (const block of message.blocks) {
    if (block.type === 'thinking' && block.text.trim() !== '' && message.parent_tool_use_id === undefined) {
      if (next.suppressedBy.size === 0) events.push(thought(message.message_id, block.text, facts));
    } else if (block.type === 'tool_use') {
      const step = startCall(next, block, message.parent_tool_use_id, facts);
      next = step.state;
      events.push(...step.events);
    } else if (block.type === 'text' && block.text.trim() !== '' && message.parent_tool_use_id === undefined) {
      const count = next.told?.messageId === message.message_id ? next.told.count + 1 : 1;
      next = { ...next, told: { messageId: message.message_id, count, index: undefined } };
      if (next.suppressedBy.size > 0) continue;
      const { text, dropped } = cutText(block.text, MESSAGE_TEXT_BYTES);
      events.push({
        type: 'agent_message',
        run_id: facts.runId,
        message_id: textId(message.message_id, count),
        role: 'assistant',
        text,
        ...(dropped > 0 ? { truncated_bytes: dropped } : {}),
      });
    }
  }
  return { state: next, events };
}

function thought(messageId: string, whole: string, facts: TranslateFacts): HarnessEvent {
  const { text, dropped } = cutText(whole, MESSAGE_TEXT_BYTES);
  const cut = dropped > 0 ? { truncated_bytes: dropped } : {};
  return { type: 'agent_thought', run_id: facts.runId, message_id: messageId, text, ...cut };
}

function textId(messageId: string, count: number): string {
  return count === 1 ? messageId : `${messageId}:${count}`;
}

function startCall(
  state: TranslateState,
  block: ToolUseBlock,
  parent: string | undefined,
  facts: TranslateFacts,
): Translation {
  if (state.openCalls.has(block.id)) return { state, events: [] };
  const isQuestion = block.name === QUESTION_TOOL;
  const call: OpenCall = {
    name: block.name,
    parent,
    startedMs: facts.nowMs,
    input: isQuestion || isFileTool(block.name) ? block.input : undefined,
  };
  const opened = withCall(state, block.id, call);
  if (!isQuestion) return { state: opened, events: [started(block.id, call, block.input, facts)] };
  return { state: parent === undefined ? suppressed(opened, block.id) : opened, events: [] };
}

function suppressed(state: TranslateState, callId: string): TranslateState {
  return { ...state, suppressedBy: new Set([...state.suppressedBy, callId]) };
}

function translateUser(state: TranslateState, message: ClaudeUser, facts: TranslateFacts): Translation {
  const results = message.blocks.filter((block) => block.type === 'tool_result');
  const events: HarnessEvent[] = [];
  let next = state;
  for (const result of results) {
    // The structured result belongs to one call; with several on the line nobody says to which.
    const output = results.length === 1 ? message.tool_use_result : undefined;
    const step = endCall(next, result, output, facts);
    next = step.state;
    events.push(...step.events);
  }
  return { state: next, events };
}

function endCall(state: TranslateState, result: ToolResultBlock, output: unknown, facts: TranslateFacts): Translation {
  const id = result.tool_use_id;
  const call = state.openCalls.get(id);
  if (!call) return { state, events: [] };
  const openCalls = new Map(state.openCalls);
  openCalls.delete(id);
  const next = { ...state, openCalls };
  const outcome = { ok: !result.is_error, content: result.content, images: toReferences(result.images ?? []) };
  if (call.name === QUESTION_TOOL) {
    if (result.is_error && state.questions.has(id)) return { state: next, events: [] };
    const suppressedBy = new Set(state.suppressedBy);
    suppressedBy.delete(id);
    const refused = [started(id, call, call.input, facts), completed(id, call, outcome, facts)];
    return { state: { ...next, suppressedBy }, events: result.is_error ? refused : [] };
  }
  const events: HarnessEvent[] = [completed(id, call, outcome, facts)];
  const change = toFileChanged(
    { run_id: facts.runId, tool_call_id: id, tool_name: call.name, input: call.input },
    { is_error: result.is_error, tool_use_result: output },
    state.workspace,
  );
  if (change) events.push(change);
  return { state: next, events };
}

function translateResult(state: TranslateState, result: ClaudeResult, facts: TranslateFacts): Translation {
  const usage = usageOfResult(result, state.totalCostUsd, facts.runId);
  const notice = noticeOfResult(result, state.apiError, facts.runId);
  return {
    state: { ...state, apiError: undefined, totalCostUsd: result.total_cost_usd ?? state.totalCostUsd },
    events: [...(usage ? [usage] : []), ...(notice ? [notice] : [])],
  };
}

function withCall(state: TranslateState, id: string, call: OpenCall): TranslateState {
  return { ...state, openCalls: new Map([...state.openCalls, [id, call]]) };
}

function started(id: string, call: OpenCall, input: unknown, facts: TranslateFacts): HarnessEvent {
  const { text, dropped } = summarizeArgs(input);
  return {
    type: 'tool_call_started',
    run_id: facts.runId,
    tool_call_id: id,
    tool_name: call.name,
    ...(text === '' ? {} : { args_summary: text }),
    ...(dropped > 0 ? { truncated_bytes: dropped } : {}),
    ...(call.parent === undefined ? {} : { parent_tool_call_id: call.parent }),
  };
}

function completed(
  id: string,
  call: OpenCall,
  outcome: { readonly ok: boolean; readonly content: string; readonly images?: readonly ResultImage[] },
  facts: TranslateFacts,
): HarnessEvent {
  const { images = [] } = outcome;
  const { text, dropped } = cutText(outcome.content, RESULT_SUMMARY_BYTES);
  return {
    type: 'tool_call_completed',
    run_id: facts.runId,
    tool_call_id: id,
    tool_name: call.name,
    ok: outcome.ok,
    duration_ms: Math.max(0, Math.round(facts.nowMs - call.startedMs)),
    ...(text === '' ? {} : { result_summary: text }),
    ...(dropped > 0 ? { truncated_bytes: dropped } : {}),
    ...(images.length > 0 ? { images } : {}),
  };
}
