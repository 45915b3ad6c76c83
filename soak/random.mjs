// Pseudo-random numbers from a seed, so that a schedule can be played again. A stream is named by words
// and numbers; two streams of other names are independent of each other. Pure.

/** 32 bits of FNV-1a over the names, then mulberry32. */
export function createRandom(...names) {
  let state = 0x811c9dc5;
  for (const character of names.join('\u0000')) {
    state = Math.imul(state ^ character.codePointAt(0), 0x01000193);
  }
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const whole = (from, to) => from + Math.floor(next() * (to - from + 1));
  return {
    /** A whole number, both ends included. */
    whole,
    chance: (probability) => next() < probability,
    pick: (values) => values[whole(0, values.length - 1)],
    /** From `[[weight, value], …]`. */
    weighted(entries) {
      let left = next() * entries.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of entries) {
        left -= weight;
        if (left < 0) return value;
      }
      return entries.at(-1)[1];
    },
  };
}
