// The connection to the host: attach, resend what the host has not stored, then events out and
// commands in. A lost link is made again with growing pauses, for as long as it takes; only
// `stale_epoch` ends it. What the commands mean is not known here.

import { connect, type Socket } from 'node:net';
import {
  decodeAttachAck,
  decodeHarnessFrame,
  encodeAttach,
  encodeFrame,
  FrameReader,
  frameEvent,
  type HarnessAttach,
  type HarnessCommand,
  type HarnessEvent,
} from '@engram/harness-proto';
import type { Logger } from 'pino';
import type { Journal, NumberedEvent } from './journal.js';
import { createRunSpans } from './run-spans.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5000;
const ATTACH_TIMEOUT_MS = 10_000;
/** Above this much unsent data chunks are left out; the whole message follows anyway. */
const CHUNK_BACKLOG_BYTES = 4 * 1024 * 1024;

export interface HostLinkOptions {
  readonly socketPath: string;
  readonly journal: Journal;
  readonly attach: () => HarnessAttach;
  readonly onAttached: () => void;
  readonly onCommand: (command: HarnessCommand) => void;
  readonly onLost: () => void;
  readonly onStale: () => void;
  readonly log: Logger;
}

export interface HostLink {
  readonly attached: boolean;
  send(event: HarnessEvent): void;
  sendStored(events: readonly NumberedEvent[]): void;
  /** Drop the link and attach again. */
  reconnect(): void;
  /** Everything written so far is with the host's socket. */
  flushed(): Promise<void>;
  close(): void;
}

export function openHostLink(options: HostLinkOptions): HostLink {
  const { journal, log } = options;
  const spans = createRunSpans({ 'engram.session_id': options.attach().session_id });
  let socket: Socket | undefined;
  let attached = false;
  let closed = false;
  let pauseMs = FIRST_PAUSE_MS;
  let retry: NodeJS.Timeout | undefined;

  const drop = (reason: string) => {
    const wasAttached = attached;
    attached = false;
    socket?.destroy();
    socket = undefined;
    if (closed) return;
    log.info({ reason, pauseMs }, 'link to the host lost');
    if (wasAttached) {
      pauseMs = FIRST_PAUSE_MS;
      options.onLost();
    }
    clearTimeout(retry);
    retry = setTimeout(open, pauseMs);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  };

  const onAck = (body: Uint8Array) => {
    const { value: ack } = decodeAttachAck(body);
    if (!ack.ok) {
      if (ack.message !== 'stale_epoch') return drop(ack.message ?? 'refused');
      log.warn('another host holds this session');
      closed = true;
      socket?.destroy();
      return options.onStale();
    }
    journal.rebase(ack.last_stored_seq);
    journal.acknowledge(ack.last_stored_seq);
    attached = true;
    pauseMs = FIRST_PAUSE_MS;
    for (const { event } of journal.after(ack.last_stored_seq)) socket?.write(frameEvent(event));
    log.info({ lastStoredSeq: ack.last_stored_seq, lastSeq: journal.lastSeq }, 'attached');
    options.onAttached();
  };

  const onBody = (body: Uint8Array) => {
    if (!attached) return onAck(body);
    const { value: frame, ignoredBytes } = decodeHarnessFrame(body);
    if (ignoredBytes > 0) log.info({ ignoredBytes }, 'a command of a newer host has fields unknown here');
    if (frame.type === 'command') {
      spans.command(frame.command);
      options.onCommand(frame.command);
    } else log.warn({ frame: frame.type }, 'frame that no host sends');
  };

  const open = () => {
    if (closed) return;
    const link = connect(options.socketPath);
    const reader = new FrameReader();
    socket = link;
    link.setTimeout(ATTACH_TIMEOUT_MS, () => {
      if (!attached) drop('no reply to the attach');
    });
    link.on('connect', () => link.write(encodeFrame(encodeAttach(options.attach()))));
    link.on('data', (chunk: Uint8Array) => {
      try {
        for (const body of reader.push(chunk)) if (socket === link) onBody(body);
      } catch (error) {
        log.error({ err: error }, 'bytes of the host that cannot be read');
        if (socket === link) drop('unreadable');
      }
    });
    link.on('error', (error) => {
      if (socket === link) drop(error.message);
    });
    link.on('close', () => {
      if (socket === link) drop('closed');
    });
  };

  open();
  return {
    get attached() {
      return attached;
    },
    send(event) {
      if (attached && socket && socket.writableLength < CHUNK_BACKLOG_BYTES) socket.write(frameEvent(event));
    },
    sendStored(events) {
      for (const { event } of events) spans.event(event);
      if (!attached || !socket) return;
      socket.cork();
      for (const { event } of events) socket.write(frameEvent(event));
      socket.uncork();
    },
    reconnect: () => drop('asked for'),
    flushed: () =>
      new Promise((resolve) => {
        if (!attached || !socket) return resolve();
        socket.write('', () => resolve());
      }),
    close() {
      closed = true;
      clearTimeout(retry);
      socket?.end();
    },
  };
}
