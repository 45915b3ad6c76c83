// The other side of the wire for fault injection: a small process that speaks the real protocol and
// does on command what a real harness does only by accident (dies, hangs, drops its link, floods,
// ignores its orders). It drives no agent; `agent` starts a stand-in process for one.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  decodeAttachAck,
  decodeHarnessFrame,
  encodeAttach,
  encodeFrame,
  FrameReader,
  frameEvent,
} from '@engram/harness-proto';

// Whoever started it may be gone by now.
process.stdout.on('error', () => process.exit(0));
process.stdout.write('ready\n');
let state = { deaf: false };
process.on('SIGTERM', () => {
  if (!state.deaf) process.exit(0);
});

const assignment = JSON.parse(await firstLine(process.stdin));
const statePath = join(assignment.state_dir, 'peer.json');
state = existsSync(statePath)
  ? JSON.parse(readFileSync(statePath, 'utf8'))
  : { events: [], trimmed: 0, run: null, runs: 0, done: [], parked: null, starts: 0, deaf: false };
state.starts += 1;
// A run that an earlier life of this harness left open.
const lostRun = state.run;
let link;
// The first commands follow the attach at once; without one it is idle.
let settle;
save();
attach();

/** Whole or not at all: tests kill this process at any moment, and the next one must be able to read it. */
function save() {
  writeFileSync(`${statePath}.new`, JSON.stringify(state));
  renameSync(`${statePath}.new`, statePath);
}

function attach(epoch = assignment.epoch, token = assignment.secret) {
  const socket = connect(assignment.socket_path);
  const reader = new FrameReader();
  let acknowledged = false;
  socket.on('error', () => undefined);
  socket.on('connect', () => {
    socket.write(
      encodeFrame(
        encodeAttach({
          session_id: assignment.session_id,
          harness_version: 'peer',
          attach_token: token,
          epoch,
          last_event_seq: state.trimmed + state.events.length,
        }),
      ),
    );
  });
  socket.on('data', (chunk) => {
    for (const body of reader.push(chunk)) {
      if (acknowledged) obey(decodeHarnessFrame(body).value.command);
      else {
        acknowledged = true;
        const ack = decodeAttachAck(body).value;
        if (!ack.ok) {
          if (ack.message === 'stale_epoch') process.exit(3);
          return;
        }
        for (const event of state.events.slice(Math.max(0, ack.last_stored_seq - state.trimmed))) {
          socket.write(frameEvent(event));
        }
        link = socket;
        if (state.garbage) nonsense(socket);
        else if (state.run !== null && lostRun === state.run) closeRun('run_interrupted');
        else if (state.run === null) settle = setTimeout(() => emit({ type: 'harness_idle' }), 100);
      }
    }
  });
  socket.on('close', () => {
    if (link === socket) link = undefined;
    if (acknowledged || !existsSync(assignment.socket_path)) setTimeout(attach, 50);
  });
}

function emit(...events) {
  state.events.push(...events);
  save();
  for (const event of events) link?.write(frameEvent(event));
}

/** A well-formed frame with an event that ends in the middle of a field. */
function nonsense(socket) {
  socket?.write(Buffer.from([0, 0, 0, 12, 0, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255]));
}

function openRun(extra) {
  state.runs += 1;
  state.run = `run-${state.runs}`;
  emit({ type: 'run_started', run_id: state.run, ...extra });
  return state.run;
}

function closeRun(type = 'run_completed') {
  const run_id = state.run;
  state.run = null;
  emit(type === 'run_completed' ? { type, run_id, ok: true } : { type, run_id }, { type: 'harness_idle' });
}

function say(text) {
  emit({ type: 'agent_message', run_id: state.run, message_id: `m-${state.events.length}`, role: 'assistant', text });
}

function obey(command) {
  switch (command.type) {
    case 'acknowledge': {
      const gone = command.stored_seq - state.trimmed;
      if (gone > 0) {
        state.events.splice(0, gone);
        state.trimmed = command.stored_seq;
        save();
      }
      return;
    }
    case 'shutdown':
      if (state.deaf) return;
      if (state.run !== null) closeRun('run_interrupted');
      save();
      if (link === undefined) process.exit(0);
      link.end(() => process.exit(0));
      return;
    case 'interrupt':
      if (state.run !== null) closeRun('run_interrupted');
      return;
    case 'answer_question':
      if (state.done.includes(command.tool_call_id)) return;
      clearTimeout(settle);
      state.done.push(command.tool_call_id);
      state.parked = null;
      openRun({});
      emit({
        type: 'question_answered',
        run_id: state.run,
        tool_call_id: command.tool_call_id,
        answers: command.answers,
      });
      say('thanks');
      closeRun();
      return;
    case 'attend_question':
      clearTimeout(settle);
      emit({ type: 'notice', level: 'info', code: 'attended', message: String(command.hold_ms > 0) });
      settle = setTimeout(() => emit({ type: 'harness_idle' }), command.hold_ms);
      return;
    case 'prompt':
      if (state.done.includes(command.prompt_id)) return;
      perform(command);
      return;
  }
}

function perform({ text, prompt_id }) {
  clearTimeout(settle);
  const [verb, argument] = text.split(' ');
  if (verb === 'die-before') process.exit(9);
  state.done.push(prompt_id);
  openRun({ prompt_id });
  switch (verb) {
    case 'ask': {
      const tool_call_id = `toolu_${state.runs}`;
      state.parked = tool_call_id;
      const option = { label: 'yes', description: '' };
      const questions = [
        { question: 'Go on?', header: 'Go', multi_select: false, options: [option, { ...option, label: 'no' }] },
      ];
      emit({ type: 'user_question', run_id: state.run, tool_call_id, questions });
      closeRun();
      return;
    }
    case 'hang':
      return;
    case 'die':
      setTimeout(() => process.exit(9), 50);
      return;
    case 'deaf':
      state.deaf = true;
      closeRun();
      return;
    case 'agent': {
      const agent = spawn('sleep', ['300'], { env: assignment.launch.env, detached: true, stdio: 'ignore' });
      const stat = readFileSync(`/proc/${agent.pid}/stat`, 'latin1');
      const start_time = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
      writeFileSync(
        join(assignment.state_dir, 'agent.json'),
        JSON.stringify({ pid: agent.pid, start_time, marker: '' }),
      );
      say(String(agent.pid));
      if (argument !== 'hang') closeRun();
      return;
    }
    case 'cut':
      say('before');
      link?.destroy();
      link = undefined;
      say('between');
      setTimeout(() => {
        say('after');
        closeRun();
      }, 200);
      return;
    case 'twice':
      attach();
      setTimeout(() => {
        say('on the new link');
        closeRun();
      }, 200);
      return;
    case 'forge':
      attach(assignment.epoch, 'ff'.repeat(32));
      setTimeout(closeRun, 200);
      return;
    case 'flood': {
      const events = Array.from({ length: Number(argument) }, (_, n) => ({
        type: 'agent_message',
        run_id: state.run,
        message_id: `f-${n}`,
        role: 'assistant',
        text: `${n}`,
      }));
      emit(...events);
      closeRun();
      return;
    }
    case 'drip': {
      const drop = (n) => {
        if (n === Number(argument)) return closeRun();
        say(String(n));
        setTimeout(drop, 60, n + 1);
      };
      drop(0);
      return;
    }
    case 'garbage':
      say('before');
      state.garbage = argument === 'always';
      save();
      nonsense(link);
      if (state.garbage) return;
      setTimeout(() => {
        say('after');
        closeRun();
      }, 300);
      return;
    case 'chunks':
      for (const chunk of ['a', 'b', 'c']) {
        link?.write(frameEvent({ type: 'agent_message_chunk', run_id: state.run, message_id: 'm', chunk }));
      }
      say('abc');
      closeRun();
      return;
    case 'starts':
      say(String(state.starts));
      closeRun();
      return;
    default:
      say(text);
      closeRun();
  }
}

function firstLine(stream) {
  return new Promise((resolve) => {
    let text = '';
    stream.on('data', (chunk) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end !== -1) resolve(text.slice(0, end));
    });
    stream.on('end', () => process.exit(0));
  });
}
