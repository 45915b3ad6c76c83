// Whether the port can be had, asked before anything else is started.

import { createServer } from 'node:net';
import { CliError } from './cli-error.js';

export function checkPort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', (error: NodeJS.ErrnoException) => reject(portError(host, port, error.code ?? error.message)));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}

export function portError(host: string, port: number, code: string): CliError {
  if (code === 'EADDRINUSE') {
    const other = port === 65_535 ? port - 1 : port + 1;
    return new CliError(
      'port_taken',
      `Port ${port} on ${host} is taken by another program.`,
      `choose another one: --port ${other}`,
    );
  }
  if (code === 'EACCES') {
    return new CliError(
      'port_taken',
      `Port ${port} may not be used by this user.`,
      'choose one above 1023 with --port',
    );
  }
  return new CliError('port_taken', `Engram cannot listen on ${host}:${port} (${code}).`, 'check --host and --port');
}
