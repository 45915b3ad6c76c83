// Carries a harness's events into the log: in order, in batches, each with its sequence, and with
// back-pressure when the database is slower than the agent. One relay lives as long as the session
// is held; each attach opens it again at what the log holds, because the harness sends everything
// behind that once more.

import type { HostDesk } from '@engram/coordinator';
import type { AgentMessageChunk, HarnessEvent } from '@engram/harness-proto';
import type { Logger } from 'pino';

export interface EventRelayOptions {
  readonly desk: Pick<HostDesk, 'appendEvents' | 'publishChunk'>;
  readonly sessionId: string;
  readonly epoch: number;
  readonly log: Logger;
  /** Stores what events only name; tried again together with them when the database is away. */
  storeFiles(events: readonly HarnessEvent[]): Promise<void>;
  onStored(events: readonly HarnessEvent[], storedSeq: number): void;
  onStaleEpoch(): void;
  /** True: stop reading from the harness; false: go on. */
  onPressure(high: boolean): void;
}

export interface EventRelay {
  /** Events after this are numbered from `storedSeq` + 1. What was queued before is forgotten. */
  open(storedSeq: number): void;
  push(event: HarnessEvent, bytes: number): void;
  /** Forgets what is queued and resolves when nothing is being written. */
  halt(): Promise<void>;
  /** Resolves when everything pushed so far is in the log, or cannot get there. */
  drain(): Promise<void>;
  close(): void;
}

const BATCH_EVENTS = 256;
const BATCH_BYTES = 2 * 1024 * 1024;
const HIGH_WATER_BYTES = 8 * 1024 * 1024;
const LOW_WATER_BYTES = 2 * 1024 * 1024;
/** What an event costs beside its bytes. */
const ITEM_BYTES = 512;
const RETRY_MS = [50, 200, 500, 1_000, 2_000] as const;

type Item = { readonly bytes: number } & (
  | { readonly seq: number; readonly event: HarnessEvent }
  | { readonly chunk: AgentMessageChunk }
);

function namesFiles({ event }: { readonly event: HarnessEvent }): boolean {
  return event.type === 'tool_call_completed' && event.images !== undefined;
}

export function createEventRelay(options: EventRelayOptions): EventRelay {
  const { desk, sessionId, epoch, log } = options;
  let queue: Item[] = [];
  let queuedBytes = 0;
  let lastSeq = 0;
  let pressed = false;
  let closed = false;
  let writing: Promise<void> | undefined;
  let wakeRetry: (() => void) | undefined;

  function press(): void {
    const high = queuedBytes > (pressed ? LOW_WATER_BYTES : HIGH_WATER_BYTES);
    if (high === pressed) return;
    pressed = high;
    options.onPressure(high);
  }

  function kick(): void {
    if (writing !== undefined || closed || queue.length === 0) return;
    writing = write().finally(() => {
      writing = undefined;
      kick();
    });
  }

  async function write(): Promise<void> {
    // What came in one reading of the link goes into the log together.
    await Promise.resolve();
    const batch: { seq: number; event: HarnessEvent }[] = [];
    const chunks: AgentMessageChunk[] = [];
    let bytes = 0;
    for (const item of queue) {
      if ('chunk' in item) chunks.push(item.chunk);
      else if (chunks.length > 0 || batch.length === BATCH_EVENTS || bytes > BATCH_BYTES) break;
      else batch.push({ seq: item.seq, event: item.event });
      bytes += item.bytes;
    }
    const current = queue;
    if (batch.length > 0) {
      const outcome = await append(batch, () => queue === current);
      if (outcome === undefined) return;
      if (!outcome.ok) {
        closed = true;
        forget();
        options.onStaleEpoch();
        return;
      }
      options.onStored(
        batch.map((each) => each.event),
        outcome.storedSeq,
      );
    }
    for (const chunk of chunks) desk.publishChunk(sessionId, chunk);
    // A halt or an attach may have started a new queue meanwhile.
    if (queue === current) {
      queue.splice(0, batch.length + chunks.length);
      queuedBytes -= bytes;
      press();
    }
  }

  /** Tries until the database takes the batch; undefined when it is not wanted any more. */
  async function append(
    batch: readonly { seq: number; event: HarnessEvent }[],
    isWanted: () => boolean,
  ): Promise<Awaited<ReturnType<HostDesk['appendEvents']>> | undefined> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        if (batch.some(namesFiles)) await options.storeFiles(batch.map(({ event }) => event));
        return await desk.appendEvents(sessionId, epoch, batch);
      } catch (error) {
        if (attempt === 0) log.warn({ sessionId, err: error }, 'events could not be stored, trying again');
        await pause(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 2_000);
        if (closed || !isWanted()) return undefined;
      }
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wakeRetry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  function forget(): void {
    queue = [];
    queuedBytes = 0;
    wakeRetry?.();
    press();
  }

  return {
    open(storedSeq) {
      forget();
      lastSeq = storedSeq;
    },
    push(event, wireBytes) {
      if (closed) return;
      const bytes = wireBytes + ITEM_BYTES;
      if (event.type === 'agent_message_chunk') queue.push({ bytes, chunk: event });
      else {
        lastSeq += 1;
        queue.push({ bytes, seq: lastSeq, event });
      }
      queuedBytes += bytes;
      press();
      kick();
    },
    async halt() {
      forget();
      await writing;
    },
    async drain() {
      while (!closed && (queue.length > 0 || writing !== undefined)) {
        kick();
        await writing;
      }
    },
    close() {
      closed = true;
      forget();
    },
  };
}
