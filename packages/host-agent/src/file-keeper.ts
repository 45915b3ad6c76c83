// Puts one session's files into the store while a host holds it: quietly after each completed run, and
// for good before it sleeps. When the store fails nothing is lost and nothing is stuck: the session
// says why it does not sleep, tries again, and wakes when there is work.

import type { HostDesk } from '@engram/coordinator';
import type { Logger } from 'pino';
import { pause } from './deadline.js';
import type { PutAway, SessionFiles } from './session-files.js';
import { StoreError } from './store/store-error.js';

export interface FileKeeperOptions {
  readonly files: SessionFiles;
  readonly desk: Pick<HostDesk, 'appendHostEvent' | 'hasWork' | 'setStatus' | 'keepFilesHere'>;
  readonly log: Logger;
  /** Undefined while the session is not prepared. */
  what(): PutAway | undefined;
  /** The host goes away. */
  isClosing(): boolean;
}

export type RestOutcome =
  | 'stored'
  /** The lease is somebody else's. */
  | 'stale_epoch'
  /** Not stored, and there is something to do: the session goes on here. */
  | 'work_waiting'
  /** Not stored, and the host goes: the session waits for it to come back. */
  | 'kept_here';

export interface FileKeeper {
  /** After a run; given up as soon as the agent works again. */
  checkpoint(): void;
  /** The agent may change files from here on. */
  disturb(): void;
  rest(): Promise<RestOutcome>;
}

const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
const LOOK_MS = 500;
const CLOSING_TRIES = 2;

export function createFileKeeper(options: FileKeeperOptions): FileKeeper {
  const { files, desk, log } = options;
  let running: Promise<unknown> = Promise.resolve();
  let checkpointing: AbortController | undefined;
  let told = false;

  async function put(signal: AbortSignal): Promise<'stored' | 'stale_epoch'> {
    const what = options.what();
    return what === undefined ? 'stored' : files.putAway(what, signal);
  }

  /** Once per trouble. */
  async function tell(error: unknown): Promise<void> {
    log.error({ err: error }, 'files could not be stored, the session stays awake');
    if (told) return;
    told = true;
    const why = error instanceof StoreError ? error.message : 'The host could not store the files; its log says why.';
    const what = options.what();
    if (what === undefined) return;
    const message = `The session cannot sleep yet: ${why} Its files are safe on its host, which tries again.`;
    await desk
      .appendHostEvent(what.sessionId, what.epoch, { type: 'session_error', code: 'store_failed', message })
      .catch((cause: unknown) => log.warn({ err: cause }, 'the failure could not be told'));
  }

  async function untilRested(): Promise<RestOutcome> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const outcome = await put(new AbortController().signal);
        told = false;
        return outcome;
      } catch (error) {
        await tell(error);
      }
      const what = options.what();
      if (what === undefined) return 'stored';
      const { sessionId, epoch } = what;
      if (options.isClosing() && attempt + 1 >= CLOSING_TRIES) {
        const kept = await desk.keepFilesHere(sessionId, epoch).catch(() => ({ ok: true }) as const);
        return kept.ok ? 'kept_here' : 'stale_epoch';
      }
      const until = Date.now() + (RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? LOOK_MS);
      while (Date.now() < until && !options.isClosing()) {
        await pause(LOOK_MS);
        if (!(await desk.hasWork(sessionId).catch(() => false))) continue;
        const active = await desk.setStatus(sessionId, epoch, 'active');
        return active.ok ? 'work_waiting' : 'stale_epoch';
      }
    }
  }

  return {
    checkpoint() {
      if (files.storeId === undefined) return;
      checkpointing?.abort();
      const controller = new AbortController();
      checkpointing = controller;
      running = running
        .then(() => put(controller.signal))
        .catch((error: unknown) => {
          if (!controller.signal.aborted) log.warn({ err: error }, 'the files of a completed run are not stored yet');
        });
    },
    disturb() {
      checkpointing?.abort();
      checkpointing = undefined;
    },
    async rest() {
      checkpointing?.abort();
      await running;
      return files.storeId === undefined ? 'stored' : untilRested();
    },
  };
}
