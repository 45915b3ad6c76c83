// Chunks of a message that is being written, to the live viewers of every process. They are never
// stored: a payload carries many, small enough for NOTIFY (whose limit counts bytes), and a chunk
// that does not fit is dropped and counted. The whole message follows in the log.

import type { AgentMessageChunk } from '@engram/harness-proto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Db } from '../database.js';
import { cleanText } from '../payload.js';
import { CHUNKS_CHANNEL } from './notifier.js';

/** NOTIFY takes less than 8000 bytes. */
export const MAX_PAYLOAD_BYTES = 7_999;
const BATCH_MS = 25;
/** While the database is away chunks are not worth memory. */
const MAX_WAITING = 2_000;

export interface ChunkPublisher {
  publish(sessionId: string, chunk: AgentMessageChunk): void;
  dropped(): number;
  close(): Promise<void>;
}

interface Waiting {
  readonly sessionId: string;
  readonly runId: string;
  readonly messageId: string;
  text: string;
}

export function createChunkPublisher(db: Db, log: Logger, batchMs: number = BATCH_MS): ChunkPublisher {
  let waiting: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let dropped = 0;

  async function send(): Promise<void> {
    const { payloads, tooBig } = toPayloads(
      waiting.map(({ sessionId, runId, messageId, text }) => [sessionId, runId, messageId, text]),
    );
    waiting = [];
    dropped += tooBig;
    if (payloads.length === 0) return;
    try {
      await sql`select pg_notify(${CHUNKS_CHANNEL}, payload) from unnest(${[...payloads]}::text[]) as payload`.execute(
        db,
      );
    } catch (error) {
      dropped += payloads.length;
      log.debug({ err: error instanceof Error ? error.message : 'unknown' }, 'chunks were not sent');
    }
  }

  function start(): void {
    timer = undefined;
    sending = (sending ?? Promise.resolve()).then(send);
  }

  return {
    publish(sessionId, chunk) {
      const last = waiting.at(-1);
      // Pieces of one message that come together travel together.
      if (last?.sessionId === sessionId && last.messageId === chunk.message_id && last.text.length < 1_024) {
        last.text += chunk.chunk;
      } else if (waiting.length >= MAX_WAITING) {
        dropped += 1;
        return;
      } else {
        waiting.push({ sessionId, runId: chunk.run_id, messageId: chunk.message_id, text: chunk.chunk });
      }
      timer ??= setTimeout(start, batchMs);
    },
    dropped: () => dropped,
    async close() {
      clearTimeout(timer);
      start();
      await sending;
    },
  };
}

const rowSchema = z.tuple([z.string(), z.string(), z.string(), z.string()]);
type ChunkRow = z.infer<typeof rowSchema>;
const payloadSchema = z.array(rowSchema);

/** As few payloads as the limit allows, in order. Pure. */
export function toPayloads(rows: readonly ChunkRow[]): {
  readonly payloads: readonly string[];
  readonly tooBig: number;
} {
  const payloads: string[] = [];
  let parts: string[] = [];
  let bytes = 2;
  let tooBig = 0;
  const finish = (): void => {
    if (parts.length > 0) payloads.push(`[${parts.join(',')}]`);
    parts = [];
    bytes = 2;
  };
  for (const row of rows) {
    const part = JSON.stringify(row.map(cleanText));
    const size = Buffer.byteLength(part) + 1;
    if (size + 1 > MAX_PAYLOAD_BYTES) {
      tooBig += 1;
      continue;
    }
    if (bytes + size > MAX_PAYLOAD_BYTES) finish();
    parts.push(part);
    bytes += size;
  }
  finish();
  return { payloads, tooBig };
}

/** What came over the channel; anything else that somebody sends there is no chunk. */
export function parseChunks(
  payload: string,
): readonly { readonly sessionId: string; readonly chunk: AgentMessageChunk }[] {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return [];
  }
  const rows = payloadSchema.safeParse(value);
  if (!rows.success) return [];
  return rows.data.map(([sessionId, run_id, message_id, chunk]) => ({
    sessionId,
    chunk: { type: 'agent_message_chunk', run_id, message_id, chunk },
  }));
}
