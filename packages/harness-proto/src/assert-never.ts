// The end of every switch over a union: the compiler proves that no arm is missing, and a value
// that got past it at run time is reported instead of being silently skipped.

export function assertNever(value: never): never {
  throw new Error(`no arm for ${JSON.stringify(value)}`);
}
