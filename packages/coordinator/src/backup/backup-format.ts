// The bytes of a backup, before compression: lines of JSON, and between them the rows of each table in
// PostgreSQL's text COPY format, which holds every value exactly and has one line a row.
//
//   {"engram_backup":1, made_at, made_by, schema, tables}
//   {"table":"events","columns":[…]}      then its rows, then a line \.
//   …
//   {"sequences":[{name,last_value,is_called}]}
//   {"end":{rows,sha256}}                  sha256 of all bytes before this line
//
// A file without its last line is torn. A higher format number is refused, unknown fields are ignored.

import { z } from 'zod';
import { CoordinatorError } from '../coordinator-error.js';

export const BACKUP_FORMAT = 1;
/** Ends a table's rows. A row cannot look like it: COPY writes a backslash twice. */
export const ROWS_END: Buffer = Buffer.from('\\.\n');

const FileHeader = z.object({
  engram_backup: z.number(),
  made_at: z.string(),
  /** Release that wrote it. */
  made_by: z.string(),
  schema: z.object({ level: z.number().int(), additions: z.array(z.string()) }),
  tables: z.array(z.string()),
});
const TableHeader = z.object({ table: z.string(), columns: z.array(z.string()).min(1) });
const Sequences = z.object({
  sequences: z.array(z.object({ name: z.string(), last_value: z.string(), is_called: z.boolean() })),
});
const End = z.object({ end: z.object({ rows: z.record(z.string(), z.number()), sha256: z.string() }) });

export type FileHeader = z.infer<typeof FileHeader>;
export type TableHeader = z.infer<typeof TableHeader>;
export type Sequences = z.infer<typeof Sequences>;
export type End = z.infer<typeof End>;

export function toLine(value: FileHeader | TableHeader | Sequences | End): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

export function parseFileHeader(line: string): FileHeader {
  const value = parseJson(line);
  const format = z.object({ engram_backup: z.number() }).safeParse(value);
  if (!format.success) throw notABackup();
  if (format.data.engram_backup > BACKUP_FORMAT) {
    throw new CoordinatorError(
      'backup_newer',
      `The backup has format ${format.data.engram_backup}, this release of Engram reads ${BACKUP_FORMAT}. ` +
        'Restore it with the release that made it, or a newer one.',
    );
  }
  const header = FileHeader.safeParse(value);
  if (!header.success) throw damaged('its first line is not whole');
  return header.data;
}

export type Section =
  | { readonly kind: 'table'; readonly header: TableHeader }
  | ({ readonly kind: 'last' } & Sequences);

export function parseSection(line: string): Section {
  const value = parseJson(line);
  const table = TableHeader.safeParse(value);
  if (table.success) return { kind: 'table', header: table.data };
  const sequences = Sequences.safeParse(value);
  if (sequences.success) return { kind: 'last', ...sequences.data };
  throw damaged('a line is neither a table nor its end');
}

export function parseEnd(line: string): End['end'] {
  const end = End.safeParse(parseJson(line));
  if (!end.success) throw damaged('its last line is not whole');
  return end.data.end;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

export function notABackup(cause?: unknown): CoordinatorError {
  return new CoordinatorError('backup_damaged', 'The file is not a backup made by `engram db backup`.', { cause });
}

export function damaged(what: string, cause?: unknown): CoordinatorError {
  return new CoordinatorError(
    'backup_damaged',
    `The backup is torn or damaged: ${what}. Nothing was changed. Use another copy of it, or an older backup.`,
    { cause },
  );
}
