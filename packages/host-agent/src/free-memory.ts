// How much memory this machine, or the container it runs in, still has. Pure but for the reading.

import { freemem, totalmem } from 'node:os';

export interface MemoryRoom {
  readonly total_bytes: number;
  readonly free_bytes: number;
}

export function readMemory(): MemoryRoom {
  const limit = process.constrainedMemory();
  const total = limit > 0 && limit < totalmem() ? limit : totalmem();
  return { total_bytes: total, free_bytes: Math.min(total, process.availableMemory?.() ?? freemem()) };
}

/** An awake agent and its harness. */
const SESSION_BYTES = 400 * 1024 * 1024;

/** How many more sessions may wake: by slots, and by memory; one always may when none is awake. */
export function freeSlots(slots: number, awake: number, memory: MemoryRoom): number {
  const bySlots = slots - awake;
  const byMemory = Math.floor(memory.free_bytes / SESSION_BYTES);
  return Math.max(0, Math.min(bySlots, awake === 0 ? Math.max(1, byMemory) : byMemory));
}
