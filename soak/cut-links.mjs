// Loaded into the stack's own processes by NODE_OPTIONS, in a soak only: on SIGUSR2 a process drops every
// connection it accepted on a session's attach socket, as a broken link would. The product knows nothing
// of it; the agent and its harness have an environment of their own and never load it.

import { subscribe } from 'node:diagnostics_channel';

const links = new Set();

subscribe('net.server.socket', ({ socket }) => {
  const address = socket.server?.address();
  if (typeof address !== 'string' || !address.endsWith('/attach')) return;
  links.add(socket);
  socket.once('close', () => links.delete(socket));
});

process.on('SIGUSR2', () => {
  for (const socket of links) socket.destroy();
});
