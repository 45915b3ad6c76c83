// Runs work on many items, a few at a time. The first failure stops what has not begun and is thrown
// when everything begun has ended.

export async function forEachLimited<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  const failures: unknown[] = [];
  async function worker(): Promise<void> {
    for (let next = queue.next(); next.done !== true && failures.length === 0; next = queue.next()) {
      try {
        await work(next.value);
      } catch (error) {
        failures.push(error);
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failures.length > 0) throw failures[0];
}
