import { describe, expect, it } from 'vitest';
import {
  CLOSED_GATE,
  callOrder,
  decideGate,
  type Gate,
  gateCallResult,
  gateCallSeen,
  gateDenied,
  gateFired,
  gateMessageStarted,
  gateMessageStopped,
  gateOverdue,
} from '../src/defer-gate.js';

/** A message with these calls (id → tool), its stream ended. */
function message(calls: Readonly<Record<string, string>>): Gate {
  let gate = gateMessageStarted(CLOSED_GATE, 'm1');
  for (const [id, name] of Object.entries(calls)) gate = gateCallSeen(gate, 'm1', id, callOrder(name));
  return gateMessageStopped(gate);
}
const fired = (gate: Gate, ...ids: string[]): Gate =>
  ids.reduce((next, id) => gateFired(next, { fireId: `f-${id}`, toolCallId: id, input: {} }), gate);
const AUQ = 'AskUserQuestion';

describe('the defer gate', () => {
  it('waits for the end of the message', () => {
    let gate = gateCallSeen(gateMessageStarted(CLOSED_GATE, 'm1'), 'm1', 'q', 'question');
    gate = fired(gate, 'q');
    expect(decideGate(gate).type).toBe('wait');
    expect(decideGate(gateMessageStopped(gate))).toMatchObject({ type: 'defer', fire: { toolCallId: 'q' } });
  });

  it('waits for the stream to know the call whose hook fired', () => {
    const gate = fired(CLOSED_GATE, 'q');
    expect(decideGate(gate).type).toBe('wait');
    const known = gateMessageStopped(gateCallSeen(gateMessageStarted(gate, 'm1'), 'm1', 'q', 'question'));
    expect(decideGate(known).type).toBe('defer');
  });

  it('waits for the results of the other calls of the message, in both orders', () => {
    for (const calls of [
      { q: AUQ, r: 'Read' },
      { r: 'Read', q: AUQ },
    ]) {
      const gate = fired(message(calls), 'q');
      expect(decideGate(gate).type).toBe('wait');
      expect(decideGate(gateCallResult(gate, 'r'))).toMatchObject({ type: 'defer', fire: { toolCallId: 'q' } });
    }
  });

  it('denies all questions of a message but the last, and defers that one when the others have their results', () => {
    let gate = fired(message({ a: AUQ, b: AUQ, c: AUQ }), 'c', 'a');
    expect(decideGate(gate).type).toBe('wait');
    gate = fired(gate, 'b');
    const decision = decideGate(gate);
    expect(decision).toMatchObject({ type: 'deny_siblings', fires: [{ toolCallId: 'a' }, { toolCallId: 'b' }] });
    if (decision.type !== 'deny_siblings') throw new Error('no siblings');
    gate = gateDenied(gate, decision.fires);
    expect(decideGate(gate).type).toBe('wait');
    gate = gateCallResult(gateCallResult(gate, 'a'), 'b');
    expect(decideGate(gate)).toMatchObject({
      type: 'defer',
      fire: { toolCallId: 'c' },
      siblings: [{ toolCallId: 'a' }, { toolCallId: 'b' }],
    });
  });

  it('does not wait for a question that the agent refused: it has a result and no hook', () => {
    const gate = fired(gateCallResult(message({ a: AUQ, b: AUQ }), 'a'), 'b');
    expect(decideGate(gate)).toMatchObject({ type: 'defer', fire: { toolCallId: 'b' }, siblings: [] });
  });

  it('takes back a question that a change behind it would wait for', () => {
    const gate = fired(message({ q: AUQ, w: 'Write' }), 'q');
    expect(decideGate(gate)).toMatchObject({ type: 'deny_blocking', fires: [{ toolCallId: 'q' }] });
    expect(decideGate(fired(message({ w: 'Write', q: AUQ }), 'q')).type).toBe('wait');
  });

  it('gives calls of unsure order a while before it takes the question back, and long parallel ones for ever', () => {
    const bash = fired(message({ q: AUQ, b: 'Bash' }), 'q');
    expect(decideGate(bash).type).toBe('wait');
    expect(decideGate(gateOverdue(bash)).type).toBe('deny_blocking');
    const task = gateOverdue(fired(message({ q: AUQ, t: 'Task' }), 'q'));
    expect(decideGate(task).type).toBe('wait');
  });

  it('takes a message that was not streamed as ended', () => {
    const gate = fired(gateCallSeen(CLOSED_GATE, 'm9', 'q', 'question'), 'q');
    expect(decideGate(gate).type).toBe('defer');
  });
});
