import { expect, it } from 'vitest';
import { freeSlots, readMemory } from '../src/free-memory.js';

const GIB = 2 ** 30;
const memory = (free: number) => ({ total_bytes: 8 * GIB, free_bytes: free });

it('lets sessions wake while there are slots and memory for them', () => {
  expect(freeSlots(16, 4, memory(8 * GIB))).toBe(12);
  expect(freeSlots(16, 4, memory(1 * GIB))).toBe(2);
  expect(freeSlots(16, 4, memory(100))).toBe(0);
  expect(freeSlots(2, 4, memory(8 * GIB))).toBe(0);
});

it('lets one session wake on a machine that is small but idle', () => {
  expect(freeSlots(16, 0, memory(100))).toBe(1);
  expect(freeSlots(0, 0, memory(100))).toBe(0);
});

it('reads what this machine or its container has', () => {
  const { total_bytes, free_bytes } = readMemory();
  expect(free_bytes).toBeGreaterThan(0);
  expect(free_bytes).toBeLessThanOrEqual(total_bytes);
});
