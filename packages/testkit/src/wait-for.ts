// Polls until something is there. A test that waits says for how long and, when it failed, for what.

export async function waitFor<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs: number,
  what = 'the expected state',
): Promise<T> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > until) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
