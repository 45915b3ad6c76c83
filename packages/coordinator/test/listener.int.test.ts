// The listening connection when the line goes silent: no error, no end, no messages.

import { mkdir } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createListener } from '../src/live/listener.js';
import { makeTempFolder } from './temp-folders.js';
import { startTestDatabase, type TestDatabase } from './test-database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database.stop());

it('finds out by its probe that nobody answers, connects anew and has its users read again', async () => {
  const connection = await database.makeDatabase();
  const folder = await makeTempFolder();
  await mkdir(folder.path, { recursive: true });
  // Passes everything on until told to swallow it, as a dead network path does.
  let silent = false;
  let connections = 0;
  const open = new Set<Socket>();
  const proxy = createServer((client) => {
    connections += 1;
    const swallow = { now: false };
    const server = connect(join(connection.host, '.s.PGSQL.5432'));
    const pass = (to: Socket) => (bytes: Buffer) => {
      if (silent) swallow.now = true;
      if (!swallow.now) to.write(bytes);
    };
    client
      .on('data', pass(server))
      .on('error', () => undefined)
      .on('close', () => server.destroy());
    server
      .on('data', pass(client))
      .on('error', () => undefined)
      .on('close', () => client.destroy());
    open.add(client).add(server);
  });
  await new Promise<void>((resolve) => proxy.listen(join(folder.path, '.s.PGSQL.5432'), resolve));

  const listener = createListener({ ...connection, host: folder.path }, pino({ level: 'silent' }), 50);
  const seen: string[] = [];
  let reconnects = 0;
  listener.listen('news', { onMessage: (payload) => seen.push(payload), onReconnect: () => (reconnects += 1) });
  await vi.waitFor(() => expect(reconnects).toBe(1), { timeout: 5_000 });
  await database.query(connection, `select pg_notify('news', 'one')`);
  await vi.waitFor(() => expect(seen).toEqual(['one']), { timeout: 5_000 });

  silent = true;
  await database.query(connection, `select pg_notify('news', 'lost')`);
  await new Promise((resolve) => setTimeout(resolve, 200));
  silent = false;
  await vi.waitFor(() => expect(reconnects).toBe(2), { timeout: 15_000 });
  expect(connections).toBe(2);
  await database.query(connection, `select pg_notify('news', 'two')`);
  await vi.waitFor(() => expect(seen).toEqual(['one', 'two']), { timeout: 5_000 });

  await listener.close();
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => proxy.close(resolve));
  await folder.remove();
});
