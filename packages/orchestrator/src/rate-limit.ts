// Token buckets by key, in this process only: enough to keep one runaway client from crowding out
// the rest. Pure but for its own small map; the clock comes in.

export interface RateLimit {
  /** Tokens a second. */
  readonly perSecond: number;
  readonly burst: number;
}

export interface RateLimiter {
  /** Takes one token; false when there is none. */
  take(key: string, nowMs: number): boolean;
}

const MAX_KEYS = 10_000;

export function createRateLimiter(limit: RateLimit): RateLimiter {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return {
    take(key, nowMs) {
      const known = buckets.get(key);
      const elapsed = known === undefined ? 0 : Math.max(0, nowMs - known.at) / 1000;
      const tokens = Math.min(limit.burst, (known?.tokens ?? limit.burst) + elapsed * limit.perSecond);
      // Re-inserted, so that the map's order is by last use and the first key is the stalest.
      buckets.delete(key);
      buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: nowMs });
      const oldest = buckets.size > MAX_KEYS ? buckets.keys().next() : undefined;
      if (oldest !== undefined && !oldest.done) buckets.delete(oldest.value);
      return tokens >= 1;
    },
  };
}
