// Writes one scripted reply as the Messages API's server-sent events, at the script's pace.
// Owns the order of the events; the connection and the log belong to demo-model.ts.

import type { ServerResponse } from 'node:http';
import { setTimeout as delayFor } from 'node:timers/promises';
import type { Gates } from './gates.js';
import type { Block, Step } from './reply-script.js';

export interface ReplyStreamDeps {
  readonly gates: Gates;
  readonly nextMessageId: () => string;
  readonly nextToolUseId: (prefix?: string) => string;
}

export const stopReasonOf = (step: Step): string =>
  step.stop ?? ((step.blocks ?? []).some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn');

/** Pieces of `size` characters; a surrogate pair is never torn apart. */
export function inPieces(content: string, size: number | undefined): readonly string[] {
  if (size === undefined || content === '') return [content];
  const characters = Array.from(content);
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += size) pieces.push(characters.slice(at, at + size).join(''));
  return pieces;
}

/** Resolves with how it ended: a stop reason, `cut`, `sse error` or `client gone`. */
export async function streamReply(
  response: ServerResponse,
  model: string | undefined,
  step: Step,
  deps: ReplyStreamDeps,
  closing: AbortSignal,
): Promise<string> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, closing]);
  const send = (type: string, fields: Readonly<Record<string, unknown>>): void => {
    if (!signal.aborted) response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  };
  const wait = async (ms: number | undefined, gate?: string): Promise<void> => {
    if (ms !== undefined && ms > 0) await delayFor(ms, undefined, { signal }).catch(() => undefined); // aborted: see callers
    if (gate !== undefined) await deps.gates.pass(gate, signal);
  };
  const usage = {
    input_tokens: 10,
    output_tokens: 20,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    ...step.usage,
  };
  const sendBlock = async (index: number, block: Block): Promise<void> => {
    const start = (content: Readonly<Record<string, unknown>>): void =>
      send('content_block_start', { index, content_block: content });
    const deltas = async (content: string, wrap: (piece: string) => Readonly<Record<string, unknown>>) => {
      for (const piece of inPieces(content, step.chunk)) {
        send('content_block_delta', { index, delta: wrap(piece) });
        await wait(step.delay);
        if (signal.aborted) return;
      }
    };
    switch (block.type) {
      case 'text':
        start({ type: 'text', text: '' });
        await deltas(block.text, (piece) => ({ type: 'text_delta', text: piece }));
        break;
      case 'thinking':
        start({ type: 'thinking', thinking: '', signature: '' });
        await deltas(block.thinking, (piece) => ({ type: 'thinking_delta', thinking: piece }));
        send('content_block_delta', { index, delta: { type: 'signature_delta', signature: 'c2ln' } });
        break;
      case 'tool_use':
        start({ type: 'tool_use', id: block.id ?? deps.nextToolUseId(block.idPrefix), name: block.name, input: {} });
        await deltas(JSON.stringify(block.input ?? {}), (piece) => ({ type: 'input_json_delta', partial_json: piece }));
        break;
      default:
        block satisfies never;
    }
    send('content_block_stop', { index });
  };

  await wait(step.beforeStart, step.gate);
  if (signal.aborted) return 'client gone';
  const id = deps.nextMessageId();
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'request-id': `req_${id}`,
  });
  send('message_start', {
    message: {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
    },
  });
  for (const [index, block] of (step.blocks ?? []).entries()) {
    await wait(block.pause, block.gate);
    await sendBlock(index, block);
    if (signal.aborted) return 'client gone';
  }
  if (step.sseError !== undefined) {
    send('error', { error: step.sseError });
    response.end();
    return 'sse error';
  }
  if (step.cut === true) {
    response.destroy();
    return 'cut';
  }
  await wait(step.beforeDelta, step.gateBeforeDelta);
  const stop = stopReasonOf(step);
  send('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage });
  await wait(step.beforeStop, step.gateBeforeStop);
  if (signal.aborted) return 'client gone';
  send('message_stop', {});
  response.end();
  return stop;
}
