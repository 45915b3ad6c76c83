// How long the host has been there, or not: tells when its first commands after an attach have been
// seen, and when it has been gone for too long.

export interface HostWatchOptions {
  readonly settleMs: number;
  readonly unreachableMs: number;
  readonly onSettled: () => void;
  readonly onUnreachable: () => void;
}

export interface HostWatch {
  attached(): void;
  commandSeen(): void;
  lost(): void;
  stop(): void;
}

export function createHostWatch(options: HostWatchOptions): HostWatch {
  let settle: NodeJS.Timeout | undefined;
  let unreachable: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearTimeout(settle);
    clearTimeout(unreachable);
    settle = undefined;
    unreachable = undefined;
  };
  return {
    attached() {
      stop();
      // The first commands follow the attach at once.
      settle = setTimeout(() => {
        settle = undefined;
        options.onSettled();
      }, options.settleMs);
    },
    commandSeen() {
      settle?.refresh();
    },
    lost() {
      clearTimeout(settle);
      settle = undefined;
      unreachable ??= setTimeout(options.onUnreachable, options.unreachableMs);
    },
    stop,
  };
}
