// Named gates at which a scripted reply stands still. A gate nobody touched is closed; `open`
// lets through who waits and who comes later, until `hold` closes it again.

export interface Gates {
  open(name: string): void;
  hold(name: string): void;
  /** Resolves when the gate is open, or when the signal aborts. */
  pass(name: string, signal: AbortSignal): Promise<void>;
  /** Resolves when somebody stands at the gate. */
  reached(name: string, timeoutMs: number): Promise<void>;
}

export function createGates(): Gates {
  const opened = new Set<string>();
  const waiting = new Map<string, Set<() => void>>();
  const watchers = new Set<{ readonly name: string; readonly notify: () => void }>();
  return {
    open(name) {
      opened.add(name);
      for (const release of [...(waiting.get(name) ?? [])]) release();
    },
    hold(name) {
      opened.delete(name);
    },
    pass(name, signal) {
      if (opened.has(name) || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const queue = waiting.get(name) ?? new Set<() => void>();
        waiting.set(name, queue);
        const release = (): void => {
          queue.delete(release);
          signal.removeEventListener('abort', release);
          resolve();
        };
        queue.add(release);
        signal.addEventListener('abort', release);
        for (const watcher of [...watchers]) if (watcher.name === name) watcher.notify();
      });
    },
    reached(name, timeoutMs) {
      if ((waiting.get(name)?.size ?? 0) > 0) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const watcher = {
          name,
          notify: (): void => {
            clearTimeout(timer);
            watchers.delete(watcher);
            resolve();
          },
        };
        const timer = setTimeout(() => {
          watchers.delete(watcher);
          reject(new Error(`nobody reached the gate "${name}" within ${timeoutMs} ms`));
        }, timeoutMs);
        watchers.add(watcher);
      });
    },
  };
}
