// Named timers of a session: setting one again starts it anew.

import type { TimerName } from './session-core.js';

export interface Timers {
  set(name: TimerName, ms: number | undefined): void;
  clear(name: TimerName): void;
  clearAll(): void;
}

export function createTimers(
  defaults: Readonly<Record<TimerName, number>>,
  onTimer: (name: TimerName) => void,
): Timers {
  const running = new Map<TimerName, NodeJS.Timeout>();
  const clear = (name: TimerName): void => {
    clearTimeout(running.get(name));
    running.delete(name);
  };
  return {
    set(name, ms) {
      clear(name);
      const fire = (): void => {
        running.delete(name);
        onTimer(name);
      };
      running.set(name, setTimeout(fire, ms ?? defaults[name]));
    },
    clear,
    clearAll() {
      for (const name of [...running.keys()]) clear(name);
    },
  };
}
