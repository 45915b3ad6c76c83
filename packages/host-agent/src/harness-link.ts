// One connection of a harness: frames in, frames out. The only file of this package that knows the
// wire's bytes. A link that breaks the protocol is closed; the harness attaches again.

import type { Socket } from 'node:net';
import {
  type AttachRefusal,
  decodeAttach,
  decodeHarnessFrame,
  encodeAttachAck,
  encodeFrame,
  FrameReader,
  frameCommand,
  type HarnessAttach,
  type HarnessCommand,
  type HarnessEvent,
} from '@engram/harness-proto';
import type { Logger } from 'pino';

export interface HarnessLinkHandlers {
  /** `bytes` is the event's size on the wire. */
  onEvent(event: HarnessEvent, bytes: number): void;
  /** The harness sent something that cannot be read; the link is closed. */
  onBroken(): void;
  onClosed(): void;
}

export interface HarnessLink {
  /** Acknowledges the attach; events flow from here on. */
  accept(lastStoredSeq: number, handlers: HarnessLinkHandlers): void;
  refuse(reason: AttachRefusal): void;
  send(command: HarnessCommand): void;
  /** While held back nothing is read, so that the harness's writes wait. */
  holdBack(held: boolean): void;
  isOpen(): boolean;
  /** Resolves when the other side has closed and everything it sent was delivered. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Reads the attach frame and hands out the link; nothing more is read before it is accepted. */
export function openHarnessLink(
  socket: Socket,
  log: Logger,
  onAttach: (link: HarnessLink, attach: HarnessAttach) => void,
): void {
  const reader = new FrameReader();
  let waiting: Uint8Array[] = [];
  let handlers: HarnessLinkHandlers | undefined;
  let attached = false;
  let open = true;
  let ignoredBytes = 0;

  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      open = false;
      if (ignoredBytes > 0) log.info({ ignoredBytes }, 'the harness sends fields this host does not know');
      handlers?.onClosed();
      resolve();
    });
  });

  const link: HarnessLink = {
    accept(lastStoredSeq, given) {
      handlers = given;
      write(encodeFrame(encodeAttachAck({ ok: true, last_stored_seq: lastStoredSeq })));
      const bodies = waiting;
      waiting = [];
      guarded(() => deliver(bodies));
      socket.resume();
      if (!open) given.onClosed();
    },
    refuse(reason) {
      if (open) socket.end(encodeFrame(encodeAttachAck({ ok: false, message: reason, last_stored_seq: 0 })));
    },
    send: (command) => write(frameCommand(command)),
    holdBack(held) {
      if (held) socket.pause();
      else socket.resume();
    },
    isOpen: () => open,
    closed,
    close() {
      socket.destroy();
    },
  };

  function write(bytes: Uint8Array): void {
    if (open && socket.writable) socket.write(bytes);
  }

  function deliver(bodies: readonly Uint8Array[]): void {
    for (const body of bodies) {
      const frame = decodeHarnessFrame(body);
      ignoredBytes += frame.ignoredBytes;
      if (frame.value.type === 'event') handlers?.onEvent(frame.value.event, body.length);
      else log.warn({ frame: frame.value.type }, 'the harness sent a frame that is not an event');
    }
  }

  function onBodies(bodies: readonly Uint8Array[]): void {
    if (handlers !== undefined) {
      deliver(bodies);
      return;
    }
    const [first, ...rest] = bodies;
    if (attached || first === undefined) {
      waiting.push(...bodies);
      return;
    }
    attached = true;
    socket.pause();
    waiting.push(...rest);
    onAttach(link, decodeAttach(first).value);
  }

  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      log.error({ err: error }, 'the harness broke the protocol, closing its link');
      socket.destroy();
      handlers?.onBroken();
    }
  }

  socket.on('error', (error) => log.debug({ err: error }, 'harness link failed'));
  socket.on('data', (chunk: Buffer) => guarded(() => onBodies(reader.push(chunk))));
}
