// Images that a tool gave back: stored before the event that names them, so that whoever reads the
// log finds them. The harness kept each as a file of its state, named by its SHA-256.

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostDesk } from '@engram/coordinator';
import type { HarnessEvent } from '@engram/harness-proto';
import type { Logger } from 'pino';
import { isErrno } from './socket-path.js';

export interface ImageKeeping {
  readonly desk: Pick<HostDesk, 'putAttachment'>;
  readonly sessionId: string;
  /** Of the harness; the agent cannot write there where a sandbox isolates. */
  readonly stateDir: string;
  readonly log: Logger;
}

const ID = /^[0-9a-f]{64}$/;

/** Throws what the database throws. An image that is not there (any more) was stored before, or is lost: the log still names it. */
export async function storeImages(events: readonly HarnessEvent[], keeping: ImageKeeping): Promise<void> {
  for (const event of events) {
    if (event.type !== 'tool_call_completed' || event.images === undefined) continue;
    for (const { attachment_id } of event.images) await storeImage(attachment_id, keeping);
  }
}

async function storeImage(id: string, { desk, sessionId, stateDir, log }: ImageKeeping): Promise<void> {
  if (!ID.test(id)) return;
  const path = join(stateDir, 'images', id);
  const bytes = await readFile(path).catch((error: unknown) => {
    if (!isErrno(error, 'ENOENT')) log.warn({ err: error }, 'an image of a tool cannot be read');
    return undefined;
  });
  if (bytes === undefined) return;
  const stored = await desk.putAttachment(sessionId, bytes);
  if (!stored.ok) log.warn({ reason: stored.reason, size: bytes.length }, 'an image of a tool is not kept');
  await rm(path, { force: true });
}
