// The command a CLI without http hooks runs for each hook: passes stdin to the harness's socket
// and the reply back. Writes exactly one JSON object; exits 0, or 1 when the harness cannot be
// reached (never 2: that means "deny"). Imports little, as it is started for every question.

import { readFileSync, writeSync } from 'node:fs';
import { request } from 'node:http';

export function runHookBridge(socketPath: string, token: string): void {
  const body = readFileSync(0);
  const post = request(
    {
      socketPath,
      method: 'POST',
      path: '/hook',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': body.length },
    },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('end', () => {
        if (response.statusCode !== 200) return fail(new Error(`the harness replied ${response.statusCode}`));
        writeSync(1, `${Buffer.concat(chunks).toString('utf8').trim()}\n`);
        process.exit(0);
      });
    },
  );
  post.on('error', fail);
  post.end(body);
}

function fail(error: Error): void {
  writeSync(2, `engram hook: ${error.message}\n`);
  process.exit(1);
}
