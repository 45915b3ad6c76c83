// Images that the harness kept are stored before the event that names them, and only then removed.

import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostDesk } from '@engram/coordinator';
import type { HarnessEvent } from '@engram/harness-proto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEventRelay } from '../src/event-relay.js';
import { storeImages } from '../src/result-images.js';

let state: string;
beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), 'egi-'));
  await mkdir(join(state, 'images'));
});
afterAll(() => rm(state, { recursive: true, force: true }));

const log = pino({ level: 'silent' });
const ID = 'ab'.repeat(32);
const completed = (id: string): HarnessEvent => ({
  type: 'tool_call_completed',
  run_id: 'r1',
  tool_call_id: 't1',
  tool_name: 'Read',
  ok: true,
  duration_ms: 1,
  images: [{ attachment_id: id, media_type: 'image/png', size: 5 }],
});

/** A desk that writes down in which order it was asked, and fails the first time. */
function desk() {
  const asked: string[] = [];
  let away = true;
  const put: HostDesk['putAttachment'] = async (_session, bytes) => {
    asked.push(`put ${Buffer.from(bytes).toString()}`);
    if (away) {
      away = false;
      throw new Error('the database is away');
    }
    return { ok: true, attachment_id: ID, media_type: 'image/png', size: bytes.length };
  };
  const append: HostDesk['appendEvents'] = async (_session, _epoch, events) => {
    asked.push('append');
    return { ok: true, storedSeq: events.at(-1)?.seq ?? 0 };
  };
  return { asked, putAttachment: put, appendEvents: append, publishChunk: () => undefined };
}

describe('images of an event', () => {
  it('are stored first, again when the database was away, and leave the disk', async () => {
    await writeFile(join(state, 'images', ID), 'hello');
    const to = desk();
    const relay = createEventRelay({
      desk: to,
      sessionId: 's',
      epoch: 1,
      log,
      storeFiles: (events) => storeImages(events, { desk: to, sessionId: 's', stateDir: state, log }),
      onStored: () => undefined,
      onStaleEpoch: () => undefined,
      onPressure: () => undefined,
    });
    relay.open(0);
    relay.push(completed(ID), 10);
    await relay.drain();
    expect(to.asked).toEqual(['put hello', 'put hello', 'append']);
    expect(await readdir(join(state, 'images'))).toEqual([]);
    relay.close();
  });

  it('that are not there, or are named like no file of ours, are passed by', async () => {
    const to = desk();
    for (const id of [ID, '../journal.jsonl', '']) {
      await storeImages([completed(id)], { desk: to, sessionId: 's', stateDir: state, log });
    }
    expect(to.asked).toEqual([]);
  });
});
