// The signals by which a person or a service manager asks for an end. Asked twice is asked once: a
// terminal and npm may both pass the same Ctrl-C on. The end itself is bounded.

export function onStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  });
}
