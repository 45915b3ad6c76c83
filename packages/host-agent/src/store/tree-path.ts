// Paths of files as bytes. A name on disk need not be text; inside this folder a path is a string
// with one character per byte (latin1), which keeps every name whole and compares fast.

import { join } from 'node:path';

/** One character per byte, relative, parts separated by `/`. */
export type BytePath = string;

export function toDisk(root: string, path: BytePath): Buffer {
  return Buffer.concat([Buffer.from(join(root, '/')), Buffer.from(path, 'latin1')]);
}

export function fromText(text: string): BytePath {
  return Buffer.from(text).toString('latin1');
}

/** Undefined when the bytes are no UTF-8. */
export function toText(path: BytePath): string | undefined {
  const bytes = Buffer.from(path, 'latin1');
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : undefined;
}

/** For messages: always text. */
export function toShown(path: BytePath): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}

/** A path from a store is only used when it stays below the folder it is restored to. */
export function isInside(path: BytePath): boolean {
  return (
    path !== '' && !path.includes('\0') && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  );
}
