// The child's end of the line to `engram up`: reads its order from stdin, reports on stdout, and says
// when the parent is gone.

import type { ChildOrder, ChildReport } from './child-line.js';

export interface ParentLink {
  readonly order: string;
  /** Resolves at the end of stdin: stop now. */
  readonly gone: Promise<void>;
}

const ORDER_MAX_BYTES = 1024 * 1024;

/** Resolves with the first line of stdin. */
export function openParentLink(): Promise<ParentLink> {
  return new Promise((resolve, reject) => {
    let text = '';
    let told = false;
    let end: () => void = () => undefined;
    const gone = new Promise<void>((done) => {
      end = done;
    });
    process.stdin.setEncoding('utf8');
    process.stdin.on('data', (chunk: string) => {
      if (told) return;
      text += chunk;
      const at = text.indexOf('\n');
      if (at >= 0) {
        told = true;
        resolve({ order: text.slice(0, at), gone });
      } else if (text.length > ORDER_MAX_BYTES) {
        reject(new Error('the order on stdin has no end'));
      }
    });
    const closed = (): void => {
      end();
      if (!told) reject(new Error('stdin ended before an order came; this command is started by `engram up`'));
    };
    process.stdin.on('end', closed);
    process.stdin.on('error', closed);
    // A parent that was killed takes its end of our stdout along.
    process.stdout.on('error', end);
  });
}

export function report(message: ChildReport): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** The order was written by the same program: only its kind is checked. */
export function parseOrder<K extends ChildOrder['kind']>(line: string, kind: K): Extract<ChildOrder, { kind: K }> {
  const value: unknown = JSON.parse(line);
  if (!isOrder(value, kind)) throw new Error(`the order on stdin is not one for \`engram ${kind}\``);
  return value;
}

function isOrder<K extends ChildOrder['kind']>(value: unknown, kind: K): value is Extract<ChildOrder, { kind: K }> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    value.kind === kind &&
    'database' in value &&
    'dataDir' in value
  );
}
