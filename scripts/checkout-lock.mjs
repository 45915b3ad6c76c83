// One script at a time changes this checkout (installs, builds, fetches); others wait their turn.
// The lock is a bound socket, so it ends with its process and is never left behind.

import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { root } from './repository.mjs';

/** Linux has sockets without a file; elsewhere a loopback port derived from the path does the same service. */
function address() {
  const key = createHash('sha256').update(realpathSync(root)).digest();
  if (process.platform === 'linux') return { path: `\0engram-checkout-${key.toString('hex').slice(0, 24)}` };
  return { host: '127.0.0.1', port: 20_000 + (key.readUInt16BE(0) % 20_000) };
}

function tryBind() {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.on('error', (error) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen(address(), () => {
      server.unref();
      resolve(server);
    });
  });
}

/** Runs `work` while holding the checkout; `onWait` is called once when another process holds it. */
export async function withCheckoutLock(work, onWait = () => {}) {
  let server = await tryBind();
  if (server === undefined) onWait();
  while (server === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    server = await tryBind();
  }
  try {
    return await work();
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}
