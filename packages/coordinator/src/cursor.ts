// Opaque page cursors: a time and an id, so that a page continues exactly behind its last row.

const SHAPE = /^(\d{1,15}) ([\w:.-]{1,200})(?: ([^\n]{1,500}))?$/u;

export interface Cursor {
  readonly atMs: number;
  readonly id: string;
  readonly more?: string;
}

export function encodeCursor(cursor: Cursor): string {
  const more = cursor.more === undefined ? '' : ` ${cursor.more}`;
  return Buffer.from(`${cursor.atMs} ${cursor.id}${more}`).toString('base64url');
}

/** Undefined when it is none of ours. */
export function decodeCursor(text: string): Cursor | undefined {
  if (!/^[\w-]{1,3000}$/.test(text)) return undefined;
  const match = SHAPE.exec(Buffer.from(text, 'base64url').toString('utf8'));
  const [, at, id, more] = match ?? [];
  if (at === undefined || id === undefined || !isUuid(id)) return undefined;
  return { atMs: Number(at), id, ...(more === undefined ? {} : { more }) };
}

/** Ids are opaque to callers: one that cannot be a session's is simply not found. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}
