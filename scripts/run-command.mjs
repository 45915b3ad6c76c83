// Runs one program to its end for the scripts: quiet when all is well, with everything it said when not.

import { spawn } from 'node:child_process';
import { root } from './repository.mjs';

/**
 * Gives `{ code, output }`; `output` is stdout and stderr together. Never throws for an exit code, only
 * when the program cannot be started. With `live` the program writes to our own stdout and stderr.
 */
export function runCommand(command, args, { cwd = root, env = process.env, live = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ['ignore', live ? 'inherit' : 'pipe', live ? 'inherit' : 'pipe'],
    });
    const chunks = [];
    child.stdout?.on('data', (chunk) => chunks.push(chunk));
    child.stderr?.on('data', (chunk) => chunks.push(chunk));
    const stop = (signal) => child.kill(signal);
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
    const done = () => {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
    };
    child.on('error', (error) => {
      done();
      reject(error);
    });
    child.on('close', (code, signal) => {
      done();
      resolve({ code: code ?? 1, signal, output: Buffer.concat(chunks).toString('utf8') });
    });
  });
}
