// The session's saved state and the events the host has not stored yet, in one append-only file: a
// record holds the events of a step and the state after it, so both are there or neither is.
//
// Events are numbered 1, 2, … over the session's life. `acknowledge` forgets what the host has; the
// file is written anew (beside it, then renamed) when most of it is no longer needed. A torn last
// record, left by a crash inside a write, is cut off.

import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { HarnessEvent } from '@engram/harness-proto';
import { CLOSED_GATE } from './defer-gate.js';
import { HarnessError } from './harness-error.js';
import { NEW_SESSION, type SessionState } from './session-core.js';

export interface NumberedEvent {
  readonly seq: number;
  readonly event: HarnessEvent;
}

interface JournalRecord {
  /** Number of the first of `events`; with no events, of the next one to come. */
  readonly next: number;
  readonly events: readonly HarnessEvent[];
  readonly state?: SessionState;
}

const COMPACT_BYTES = 512 * 1024;

export interface Journal {
  readonly state: SessionState;
  readonly lastSeq: number;
  /** Events the host has not said it stored. */
  readonly unacknowledged: number;
  /** Everything behind `seq`, oldest first. */
  after(seq: number): readonly NumberedEvent[];
  /** Saves both together; returns the numbers given. `sync`: on the disk before it returns. */
  append(events: readonly HarnessEvent[], state: SessionState | undefined, sync: boolean): readonly NumberedEvent[];
  acknowledge(storedSeq: number): void;
  /** The host has stored more than these files know of: what was added since the start follows behind it. */
  rebase(storedSeq: number): void;
  close(): void;
}

export function openJournal(stateDir: string): Journal {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const path = join(stateDir, 'journal.jsonl');
  const loaded = existsSync(path) ? load(path) : { state: NEW_SESSION, next: 1, kept: [], goodBytes: 0 };
  let { state, next } = loaded;
  let kept: NumberedEvent[] = loaded.kept;
  let fd = openSync(path, 'a', 0o600);
  let size = loaded.goodBytes;
  const loadedNext = next;
  let rebased = false;
  ftruncateSync(fd, size);

  const write = (to: number, record: JournalRecord): number => {
    const bytes = Buffer.from(`${JSON.stringify(record)}\n`);
    for (let done = 0; done < bytes.length; ) done += writeSync(to, bytes, done);
    return bytes.length;
  };

  const compact = (): void => {
    const fresh = `${path}.new`;
    const to = openSync(fresh, 'w', 0o600);
    size = write(to, { next: kept[0]?.seq ?? next, events: kept.map((one) => one.event), state });
    fsyncSync(to);
    renameSync(fresh, path);
    syncFolder(dirname(path));
    closeSync(fd);
    closeSync(to);
    fd = openSync(path, 'a', 0o600);
  };

  return {
    get state() {
      return state;
    },
    get lastSeq() {
      return next - 1;
    },
    get unacknowledged() {
      return kept.length;
    },
    after: (seq) => kept.filter((one) => one.seq > seq),
    append(events, saved, sync) {
      const numbered = events.map((event, i) => ({ seq: next + i, event }));
      const toSave = saved && { ...saved, gate: CLOSED_GATE };
      if (numbered.length === 0 && !toSave) return numbered;
      size += write(fd, { next, events, ...(toSave ? { state: toSave } : {}) });
      if (sync) fsyncSync(fd);
      next += events.length;
      kept = [...kept, ...numbered];
      if (toSave) state = toSave;
      return numbered;
    },
    acknowledge(storedSeq) {
      kept = kept.filter((one) => one.seq > storedSeq);
      if (size > COMPACT_BYTES && kept.length < 64) compact();
    },
    rebase(storedSeq) {
      if (rebased) return;
      rebased = true;
      if (storedSeq < loadedNext) return;
      const added = kept.filter((one) => one.seq >= loadedNext);
      kept = added.map((one, i) => ({ seq: storedSeq + 1 + i, event: one.event }));
      next = storedSeq + 1 + added.length;
      compact();
    },
    close() {
      fsyncSync(fd);
      closeSync(fd);
    },
  };
}

function load(path: string): { state: SessionState; next: number; kept: NumberedEvent[]; goodBytes: number } {
  const bytes = readFileSync(path);
  let state = NEW_SESSION;
  let next = 1;
  const kept: NumberedEvent[] = [];
  let start = 0;
  for (let lf = bytes.indexOf(0x0a); lf !== -1; lf = bytes.indexOf(0x0a, start)) {
    const record = parseRecord(bytes.subarray(start, lf).toString('utf8'), path);
    for (const [i, event] of record.events.entries()) kept.push({ seq: record.next + i, event });
    next = record.next + record.events.length;
    if (record.state) state = record.state;
    start = lf + 1;
  }
  return { state, next, kept, goodBytes: start };
}

/** Our own file, written by this program alone: a whole line that does not parse is damage, not input. */
function parseRecord(line: string, path: string): JournalRecord {
  try {
    const record: JournalRecord = JSON.parse(line);
    if (typeof record.next === 'number' && Array.isArray(record.events)) return record;
  } catch (cause) {
    throw new HarnessError('state_damaged', `${path} has a line that cannot be read`, { cause });
  }
  throw new HarnessError('state_damaged', `${path} has a line that is no record`);
}

function syncFolder(path: string): void {
  const fd = openSync(path, 'r');
  fsyncSync(fd);
  closeSync(fd);
}
