#!/usr/bin/env node
// `run`: waits, started ahead, for one assignment line on stdin. `hook-bridge [socket]`: what an
// agent without http hooks runs. Loads only what the chosen way needs; `run` says `ready` first.

import { stdin, stdout } from 'node:process';

const [way, argument] = process.argv.slice(2);

switch (way) {
  case 'run':
    waitForAssignment();
    break;
  case 'hook-bridge': {
    const [{ runHookBridge }, { readBridgeConfig }] = await Promise.all([
      import('./hook-bridge.js'),
      import('./config.js'),
    ]);
    const { socket, token } = readBridgeConfig();
    runHookBridge(argument ?? socket, token);
    break;
  }
  default:
    console.error('usage: engram-harness-claude run | hook-bridge [socket]');
    process.exit(64);
}

/** A harness that is not needed at once. */
const PRACTISE_AFTER_MS = 100;

function waitForAssignment(): void {
  let text = '';
  let assigned = false;
  stdin.setEncoding('utf8');
  stdin.on('data', (chunk: string) => {
    if (assigned) return;
    text += chunk;
    const end = text.indexOf('\n');
    if (end === -1) return;
    assigned = true;
    const line = text.slice(0, end);
    text = '';
    void loaded.then(({ runSession }) => runSession(line));
  });
  // Nobody will give us a session any more. Once assigned, the host is the socket, not this pipe.
  stdin.on('end', () => {
    if (!assigned) process.exit(0);
  });
  stdout.write('ready\n');
  // The rest is loaded while we wait, and gone through once.
  const loaded = import('./run.js');
  void loaded.then(({ getReady, practise }) => {
    getReady();
    setTimeout(() => {
      if (!assigned) practise();
    }, PRACTISE_AFTER_MS);
  });
}
