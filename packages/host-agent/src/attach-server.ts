// One session's door for its harness: a unix socket that lets in whoever shows the session's
// secret and epoch, and nobody else. The newest valid attach wins; the one before is cut.

import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import type { AttachRefusal, HarnessAttach } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { type HarnessLink, openHarnessLink } from './harness-link.js';

export interface ExpectedAttach {
  readonly sessionId: string;
  readonly epoch: number;
  readonly secret: string;
}

/** An older epoch is told first: it is what ends a harness that outlived its lease. */
export function checkAttach(attach: HarnessAttach, expected: ExpectedAttach): AttachRefusal | undefined {
  if (attach.session_id !== expected.sessionId) return 'unknown_session';
  if (attach.epoch < expected.epoch) return 'stale_epoch';
  if (!isSameSecret(attach.attach_token, expected.secret) || attach.epoch !== expected.epoch) return 'bad_token';
  return undefined;
}

function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

export interface AttachServerOptions {
  readonly path: string;
  readonly expected: ExpectedAttach;
  readonly log: Logger;
  /** The link is not acknowledged yet and delivers nothing before it is. */
  onAttach(link: HarnessLink, attach: HarnessAttach): void;
}

export interface AttachServer {
  close(): Promise<void>;
}

/** From connecting to a whole attach frame. */
const HANDSHAKE_MS = 5_000;

export async function openAttachServer(options: AttachServerOptions): Promise<AttachServer> {
  const { expected, log } = options;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    const timer = setTimeout(() => socket.destroy(), HANDSHAKE_MS);
    socket.once('close', () => clearTimeout(timer));
    openHarnessLink(socket, log, (link, attach) => {
      clearTimeout(timer);
      const refusal = checkAttach(attach, expected);
      if (refusal === undefined) {
        options.onAttach(link, attach);
        return;
      }
      log.warn({ sessionId: expected.sessionId, epoch: attach.epoch, refusal }, 'attach refused');
      link.refuse(refusal);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.path, () => {
      server.off('error', reject);
      server.on('error', (error) => log.error({ err: error }, 'attach socket failed'));
      resolve();
    });
  });
  return {
    async close() {
      const gone = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await gone;
    },
  };
}
