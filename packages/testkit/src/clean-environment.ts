// The environment of everything the tests start: ours without what could reach a real model, another
// Engram or somebody's database.

const REMOVED = /^(ANTHROPIC_|CLAUDE|ENGRAM_|PG[A-Z]+$|DATABASE_URL$|NODE_ENV$|NODE_OPTIONS$|VITEST)/;

export function cleanEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || REMOVED.test(name) ? [] : [[name, value] as const],
  );
  return { ...Object.fromEntries(kept), ...extra };
}
