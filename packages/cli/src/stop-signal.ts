// The signals by which a person or a service manager asks for an end. Asked twice is asked once: a
// terminal and npm may both pass the same Ctrl-C on. The end itself is bounded.

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export function onStopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve(signal));
  });
}

/** The next signal of this kind, for an end that is under way and should be shorter. */
export function onNextSignal(signal: StopSignal): Promise<void> {
  return new Promise((resolve) => process.once(signal, () => resolve()));
}
