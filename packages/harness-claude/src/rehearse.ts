// A harness waits before it has a session, and the first way through a piece of code takes a runtime several times
// as long as the second. So the way from a stored answer to the agent's next words is gone through once while
// nobody waits for it: commands, core, settings, a spawn, a hook's request, the agent's lines, events. Nothing of
// it is kept, and nothing runs afterwards.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { join } from 'node:path';
import { decodeHarnessFrame, FrameReader, frameCommand, frameEvent, type HarnessEvent } from '@engram/harness-proto';
import { createClaudeStream } from './claude-stream.js';
import { type HookDecision, type HookServer, openHookServer } from './hook-server.js';
import { LogTeller } from './log-teller.js';
import { NEW_SESSION, recover, type SessionInput, type SessionState, step } from './session-core.js';
import { toSettings } from './settings.js';
import { toSessionInputs } from './stream-inputs.js';

const CALL = 'toolu_rehearsal';
const QUESTION = {
  question: 'Which one?',
  header: 'One',
  multiSelect: false,
  options: [
    { label: 'This', description: 'the first' },
    { label: 'That', description: 'the second' },
  ],
};
const ASK = { type: 'tool_use', id: CALL, name: 'AskUserQuestion', input: { questions: [QUESTION] } };
const SESSION = { session_id: 'rehearsal' };

/** A question up to its defer. */
const ASKING = [
  { type: 'system', subtype: 'init', tools: ['AskUserQuestion'], model: 'none', ...SESSION },
  { type: 'stream_event', event: { type: 'message_start', message: { id: 'msg_1' } }, parent_tool_use_id: null },
  { type: 'assistant', message: { id: 'msg_1', role: 'assistant', content: [ASK] }, parent_tool_use_id: null },
  { type: 'stream_event', event: { type: 'message_stop' }, parent_tool_use_id: null },
];
const DEFERRED = {
  type: 'result',
  subtype: 'success',
  is_error: false,
  num_turns: 1,
  result: '',
  stop_reason: 'tool_deferred',
  usage: {},
  deferred_tool_use: { id: CALL, name: ASK.name, input: ASK.input },
  ...SESSION,
};

/** After the resume: the answer's result, and the words that follow. */
const GOING_ON = [
  {
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: CALL, content: '"Which one?"="This"' }] },
    parent_tool_use_id: null,
  },
  {
    type: 'assistant',
    message: { id: 'msg_2', role: 'assistant', content: [{ type: 'text', text: 'So be it.' }] },
    parent_tool_use_id: null,
  },
  { type: 'result', subtype: 'success', is_error: false, num_turns: 1, result: 'So be it.', usage: {}, ...SESSION },
];

export async function rehearse(): Promise<void> {
  rehearseSession();
  rehearseSpawn();
  await rehearseHook();
}

/** Gives the kinds of what would have gone into the log. */
export function rehearseSession(): readonly HarnessEvent['type'][] {
  const told: HarnessEvent['type'][] = [];
  const tell = (event: HarnessEvent): void => {
    told.push(event.type);
    frameEvent(event);
  };
  let { state } = recover(NEW_SESSION, randomUUID());
  const teller = new LogTeller('/', '/');
  const take = (input: SessionInput): void => {
    const next = step(state, input, randomUUID());
    state = next.state;
    for (const effect of next.effects) {
      if (effect.type === 'emit') tell(effect.event);
      // The agent's files say what they say when all is well.
      if (effect.type === 'check_deferred') take({ type: 'deferred_checked', found: true });
      if (effect.type === 'check_marker') take({ type: 'parked', resumable: true });
    }
  };
  const hear = (line: unknown): void => {
    for (const message of createClaudeStream().push(Buffer.from(`${JSON.stringify(line)}\n`))) {
      for (const input of toSessionInputs(message, 'msg_1').inputs) take(input);
      for (const event of teller.tell(message, runOf(state))) tell(event);
    }
  };
  const command = (given: Parameters<typeof frameCommand>[0]): void => {
    for (const body of new FrameReader().push(frameCommand(given))) {
      const { value } = decodeHarnessFrame(body);
      if (value.type === 'command' && value.command.type !== 'unknown')
        take({ type: 'command', command: value.command });
    }
  };
  command({ type: 'reconcile', open: [], closed: [] });
  command({ type: 'prompt', text: 'Go.', prompt_id: 'p' });
  const fire = (fireId: string): void =>
    take({ type: 'hook_fired', fireId, toolCallId: CALL, input: { questions: [QUESTION] } });
  for (const line of ASKING) hear(line);
  fire('first');
  hear(DEFERRED);
  take({ type: 'agent_exited', reason: '' });
  command({ type: 'answer_question', tool_call_id: CALL, answers: { [QUESTION.question]: ['This'] } });
  fire('second');
  for (const line of GOING_ON) hear(line);
  JSON.stringify(state);
  JSON.stringify(toSettings({ type: 'http', port: 0 }));
  return told;
}

function runOf({ runs }: SessionState): string | undefined {
  return runs.turn.status === 'running' ? runs.turn.runId : undefined;
}

/** Of a program that is not there: nothing is left of it. */
function rehearseSpawn(): void {
  spawn(join(process.execPath, 'none'), [], { detached: true, stdio: 'pipe' }).on('error', () => undefined);
}

/** A hook that fires, is held and gets its verdict, on a server of its own. */
async function rehearseHook(): Promise<void> {
  const token = 'rehearsal';
  const hooks: HookServer = await openHookServer({
    token: () => token,
    onFire: ({ fireId, input }) => setImmediate(() => hooks.reply(fireId, toDecision(input))),
    onLost: () => undefined,
  });
  await new Promise<void>((resolve) => {
    const call = request(
      {
        host: '127.0.0.1',
        port: hooks.port,
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        agent: false,
      },
      (response) => response.resume().on('close', resolve),
    );
    call.on('error', () => resolve());
    call.end(JSON.stringify({ tool_name: ASK.name, tool_use_id: CALL, tool_input: ASK.input }));
  });
  await hooks.close();
}

function toDecision(updatedInput: unknown): HookDecision {
  return { permissionDecision: 'allow', updatedInput };
}
