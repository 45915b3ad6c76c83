import { type SpanOptions, setTracer, type Tracer } from '@engram/harness-proto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRunSpans } from '../src/run-spans.js';

/** What was begun and how it ended, in words. */
let told: string[] = [];

const tracer: Tracer = {
  start(name: string, { parent }: SpanOptions) {
    told.push(`${name} below ${parent}`);
    return {
      traceParent: `${name}*`,
      end: ({ failed } = {}) => void told.push(`${name} ended${failed === undefined ? '' : `: ${failed}`}`),
    };
  },
  flush: () => Promise.resolve(),
};

beforeEach(() => {
  told = [];
  setTracer(tracer);
});
afterEach(() => setTracer(undefined));

const prompt = { type: 'prompt', text: 'x', prompt_id: 'p', trace_parent: 'T' } as const;
const tool = { run_id: 'r', tool_call_id: 't', tool_name: 'Bash' } as const;

describe('the harness’s part of a trace', () => {
  it('is a prompt’s run with its tool calls, once however often the prompt comes', () => {
    const spans = createRunSpans({});
    spans.command(prompt);
    spans.command(prompt);
    spans.event({ type: 'run_started', run_id: 'r', prompt_id: 'p' });
    spans.event({ type: 'tool_call_started', ...tool });
    spans.event({ type: 'tool_call_completed', ...tool, ok: true, duration_ms: 1 });
    spans.event({ type: 'run_completed', run_id: 'r', ok: true });
    spans.event({ type: 'run_completed', run_id: 'r', ok: true });
    expect(told).toEqual(['run below T', 'tool call below run*', 'tool call ended', 'run ended']);
  });

  it('is an answer’s run, known by the proof that follows its start', () => {
    const spans = createRunSpans({});
    spans.command({ type: 'answer_question', tool_call_id: 't', answers: {}, trace_parent: 'T' });
    spans.event({ type: 'run_started', run_id: 'r' });
    spans.event({ type: 'question_answered', run_id: 'r', tool_call_id: 't', answers: {} });
    spans.event({ type: 'run_interrupted', run_id: 'r' });
    expect(told).toEqual(['run below T', 'run ended: interrupted']);
  });

  it('ends with the dismissal when no run follows it', () => {
    const spans = createRunSpans({});
    spans.command({ type: 'dismiss_question', tool_call_id: 't', reason: '', trace_parent: 'T' });
    spans.event({ type: 'question_dismissed', run_id: 'r', tool_call_id: 't', reason: '' });
    expect(told).toEqual(['run below T', 'run ended']);
  });

  it('ends what a run left open, and is nothing for commands without a trace', () => {
    const spans = createRunSpans({});
    spans.command({ type: 'prompt', text: 'x', prompt_id: 'q' });
    spans.event({ type: 'run_started', run_id: 'r', prompt_id: 'q' });
    spans.event({ type: 'run_completed', run_id: 'r', ok: true });
    expect(told).toEqual([]);
    spans.command(prompt);
    spans.event({ type: 'run_started', run_id: 'r', prompt_id: 'p' });
    spans.event({ type: 'tool_call_started', ...tool });
    spans.event({ type: 'run_completed', run_id: 'r', ok: false });
    expect(told.slice(2)).toEqual(['tool call ended: the run ended first', 'run ended: the run failed']);
  });
});
