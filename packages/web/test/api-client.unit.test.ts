import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, isPassing, untilStored } from '../src/api-client.js';

const down = new ApiError(0, 'network', 'the server does not answer');

describe('calls that are safe to repeat', () => {
  afterEach(() => vi.useRealTimers());

  it('go on until the server has stored them, and tell each wait', async () => {
    vi.useFakeTimers();
    const waits: number[] = [];
    let calls = 0;
    const done = untilStored(
      async () => {
        calls += 1;
        if (calls < 4) throw down;
        return 'stored';
      },
      (ms) => waits.push(ms),
    );
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await done).toBe('stored');
    expect(calls).toBe(4);
    expect(waits).toEqual([500, 1_000, 2_000]);
  });

  it('end at once when the server refuses', async () => {
    for (const refusal of [new ApiError(409, 'question_closed', 'closed'), new ApiError(422, 'invalid_answers', 'x')]) {
      let calls = 0;
      const call = async () => {
        calls += 1;
        throw refusal;
      };
      await expect(untilStored(call)).rejects.toBe(refusal);
      expect(calls).toBe(1);
    }
  });

  it('are repeated only for what may pass by itself', () => {
    const codes = [0, 400, 401, 404, 409, 413, 422, 429, 500, 502, 503];
    expect(codes.filter((status) => isPassing(new ApiError(status, 'x', 'x')))).toEqual([0, 429, 502, 503]);
    expect(isPassing(new Error('a bug'))).toBe(false);
  });
});
