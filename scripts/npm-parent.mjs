// `npm start` is told to stop, or killed, and does not always pass that on: then we would run without
// anybody who knows. The script in package.json begins with `exec`, so npm itself is our parent.

const WATCH_MS = 300;

/** Calls `onGone` once when the npm that started us is gone. Does nothing when npm did not start us. */
export function watchNpm(onGone) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(timer);
    onGone();
  }, WATCH_MS);
  timer.unref();
}
