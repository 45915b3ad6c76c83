// When the reply `defer` may go out, and for which call. Pure.
//
// A defer that is given while the model's message still streams, or while another call of that
// message runs, makes some CLI versions infer again over a made-up result and lose the answer.
// So the gate opens when the message has stopped and every other call of it has its result; of
// several questions in one message all but the last are denied first, and their results awaited.
//
// The CLI runs calls that change things one after another, in the message's order. Such a call
// behind a question starts only when the question has its reply, so the gate would wait for ever:
// that question is denied with the request to ask again, which lets the others run.

import { QUESTION_TOOL } from './question-input.js';

/** `serial`: runs only when every call before it is done; `unsure`: that depends on its input. */
export type CallOrder = 'question' | 'parallel' | 'unsure' | 'serial';

export interface GateCall {
  readonly toolCallId: string;
  readonly order: CallOrder;
  readonly hasResult: boolean;
}

/** A hook that waits for our reply. `input` is the tool's input as the hook got it. */
export interface HeldFire {
  readonly fireId: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly denied: boolean;
}

export interface Gate {
  /** The model's message is still streaming. */
  readonly messageOpen: boolean;
  readonly messageId: string | undefined;
  readonly calls: readonly GateCall[];
  readonly fires: readonly HeldFire[];
  /** A question has waited so long that calls of unsure order behind it count as waiting for it. */
  readonly overdue: boolean;
}

export const CLOSED_GATE: Gate = { messageOpen: false, messageId: undefined, calls: [], fires: [], overdue: false };

const SERIAL_TOOLS = new Set(['Edit', 'MultiEdit', 'NotebookEdit', 'Write']);
/** May take long and run beside a question. */
const PARALLEL_TOOLS = new Set(['Agent', 'Glob', 'Grep', 'Read', 'Task', 'WebFetch', 'WebSearch']);

export function callOrder(toolName: string): CallOrder {
  if (toolName === QUESTION_TOOL) return 'question';
  if (SERIAL_TOOLS.has(toolName)) return 'serial';
  return PARALLEL_TOOLS.has(toolName) ? 'parallel' : 'unsure';
}

export type GateDecision =
  | { readonly type: 'wait' }
  /** Calls behind these questions wait for them. */
  | { readonly type: 'deny_blocking'; readonly fires: readonly HeldFire[] }
  /** These calls' questions travel on the card of the one that stays. */
  | { readonly type: 'deny_siblings'; readonly fires: readonly HeldFire[]; readonly stays: HeldFire }
  | { readonly type: 'defer'; readonly fire: HeldFire; readonly siblings: readonly HeldFire[] };

export function gateMessageStarted(gate: Gate, messageId: string): Gate {
  if (gate.messageId === messageId) return { ...gate, messageOpen: true };
  // Calls of the message before have their results; a fire still held belongs to no known call.
  return { messageOpen: true, messageId, calls: [], fires: gate.fires, overdue: false };
}

export function gateMessageStopped(gate: Gate): Gate {
  return { ...gate, messageOpen: false };
}

export function gateCallSeen(gate: Gate, messageId: string, toolCallId: string, order: CallOrder): Gate {
  // A reply that was not streamed shows its first line without a message_start.
  const base =
    gate.messageId === messageId ? gate : { ...gate, messageId, messageOpen: false, calls: [], overdue: false };
  if (base.calls.some((call) => call.toolCallId === toolCallId)) return base;
  return { ...base, calls: [...base.calls, { toolCallId, order, hasResult: false }] };
}

export function gateCallResult(gate: Gate, toolCallId: string): Gate {
  return {
    ...gate,
    calls: gate.calls.map((call) => (call.toolCallId === toolCallId ? { ...call, hasResult: true } : call)),
  };
}

export function gateFired(gate: Gate, fire: Omit<HeldFire, 'denied'>): Gate {
  return { ...gate, fires: [...gate.fires, { ...fire, denied: false }] };
}

export function gateFireLost(gate: Gate, fireId: string): Gate {
  return { ...gate, fires: gate.fires.filter((fire) => fire.fireId !== fireId) };
}

export function gateDenied(gate: Gate, fires: readonly HeldFire[]): Gate {
  const ids = new Set(fires.map((fire) => fire.fireId));
  return { ...gate, fires: gate.fires.map((fire) => (ids.has(fire.fireId) ? { ...fire, denied: true } : fire)) };
}

/** Every fire that still waits for a reply. */
export function gateUnreplied(gate: Gate): readonly HeldFire[] {
  return gate.fires.filter((fire) => !fire.denied);
}

/** These fires got a reply of their own and are nobody's siblings. */
export function gateDropped(gate: Gate, fires: readonly HeldFire[]): Gate {
  const ids = new Set(fires.map((fire) => fire.fireId));
  return { ...gate, fires: gate.fires.filter((fire) => !ids.has(fire.fireId)) };
}

export function gateOverdue(gate: Gate): Gate {
  return { ...gate, overdue: true };
}

function isBlocking(gate: Gate, fire: HeldFire): boolean {
  const at = gate.calls.findIndex((call) => call.toolCallId === fire.toolCallId);
  return gate.calls
    .slice(at + 1)
    .some((call) => !call.hasResult && (call.order === 'serial' || (call.order === 'unsure' && gate.overdue)));
}

export function decideGate(gate: Gate): GateDecision {
  if (gate.messageOpen) return { type: 'wait' };
  const order = new Map(gate.calls.map((call, index) => [call.toolCallId, index]));
  const known = gate.fires
    .filter((fire) => order.has(fire.toolCallId))
    .sort((a, b) => (order.get(a.toolCallId) ?? 0) - (order.get(b.toolCallId) ?? 0));
  const waiting = known.filter((fire) => !fire.denied);
  const last = waiting.at(-1);
  if (!last) return { type: 'wait' };
  const blocking = waiting.filter((fire) => isBlocking(gate, fire));
  if (blocking.length > 0) return { type: 'deny_blocking', fires: blocking };
  const fired = new Set(known.map((fire) => fire.toolCallId));
  // A question whose input the CLI refuses never fires; it has a result then.
  const settled = gate.calls.every((call) => call.hasResult || fired.has(call.toolCallId));
  if (!settled) return { type: 'wait' };
  const siblings = waiting.slice(0, -1);
  if (siblings.length > 0) return { type: 'deny_siblings', fires: siblings, stays: last };
  const others = gate.calls.filter((call) => call.toolCallId !== last.toolCallId);
  if (!others.every((call) => call.hasResult)) return { type: 'wait' };
  return { type: 'defer', fire: last, siblings: known.filter((fire) => fire.denied) };
}
