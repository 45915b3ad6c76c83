// Ends every switch over a union: a missing case is a compile error, a value the types did not
// promise is an exception that names it.
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}
