// The environment for everything that is tested: ours without what would reach a real model, a real
// Engram, or somebody's database.

const removed = /^(ANTHROPIC_|CLAUDE|ENGRAM_|PG[A-Z]+$|DATABASE_URL$|NODE_ENV$|NODE_OPTIONS$|VITEST)/;

export function cleanEnvironment(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !removed.test(name)));
}
