// The harness's part of a trace: from the command that asked for a run to the end of that run, with the tool
// calls in it. Looks at what passes over the link, changes nothing, and does nothing when no command brings a
// trace or nothing is recorded.

import { type HarnessCommand, type HarnessEvent, type Span, startSpan } from '@engram/harness-proto';

export interface RunSpans {
  command(command: HarnessCommand): void;
  event(event: HarnessEvent): void;
}

/** Commands whose run has not begun; far more than can be owed to one agent. */
const OWED_MAX = 256;

export function createRunSpans(attributes: Readonly<Record<string, string>>): RunSpans {
  /** By prompt id or tool call id. A command that comes again keeps its first span. */
  const owed = new Map<string, Span>();
  const tools = new Map<string, Span>();
  let run: { readonly id: string; span: Span | undefined } | undefined;

  function take(id: string | undefined): Span | undefined {
    const span = id === undefined ? undefined : owed.get(id);
    if (id !== undefined) owed.delete(id);
    return span;
  }

  /** An answer's run was begun without naming it: the proof that follows does. */
  function proven(runId: string, toolCallId: string): void {
    const span = take(toolCallId);
    if (run?.id === runId && run.span === undefined) run.span = span;
    else span?.end();
  }

  function end(runId: string, failed?: string): void {
    for (const tool of tools.values()) tool.end({ failed: 'the run ended first' });
    tools.clear();
    if (run?.id !== runId) return;
    run.span?.end({ attributes: { 'engram.run_id': runId }, ...(failed === undefined ? {} : { failed }) });
    run = undefined;
  }

  return {
    command(command) {
      if (!('trace_parent' in command) || command.trace_parent === undefined) return;
      const id = command.type === 'prompt' ? command.prompt_id : command.tool_call_id;
      if (owed.has(id) || owed.size >= OWED_MAX) return;
      const span = startSpan('run', { parent: command.trace_parent, attributes });
      if (span !== undefined) owed.set(id, span);
    },
    event(event) {
      switch (event.type) {
        case 'run_started':
          run = { id: event.run_id, span: take(event.prompt_id) };
          break;
        case 'question_answered':
        case 'question_dismissed':
          proven(event.run_id, event.tool_call_id);
          break;
        case 'tool_call_started': {
          const parent = run?.id === event.run_id ? run.span?.traceParent : undefined;
          const span =
            parent === undefined
              ? undefined
              : startSpan('tool call', { parent, attributes: { 'engram.tool': event.tool_name } });
          if (span !== undefined) tools.set(event.tool_call_id, span);
          break;
        }
        case 'tool_call_completed':
          tools.get(event.tool_call_id)?.end(event.ok ? {} : { failed: 'the tool failed' });
          tools.delete(event.tool_call_id);
          break;
        case 'run_completed':
          end(event.run_id, event.ok ? undefined : 'the run failed');
          break;
        case 'run_interrupted':
          end(event.run_id, 'interrupted');
          break;
        default:
      }
    },
  };
}
