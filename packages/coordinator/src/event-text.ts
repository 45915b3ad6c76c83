// An event as the API shows it: JSON on one line, made of the database's own text. Nothing is parsed
// and written again, for replays and live views pass on many events and look into none.

import type { EventText } from './session-events.js';

/** For an events row with alias `e`. Our own three are not hidden by a field of a foreign kind. */
export const TEXT_COLUMNS = `e.idx, e.at, e.kind, e.raw,
  (case when e.data ?| array['idx', 'type', 'at'] then e.data - array['idx', 'type', 'at'] else e.data end)::text as body`;

export interface TextRow {
  readonly idx: number;
  readonly at: string;
  readonly kind: string;
  readonly raw: Buffer | null;
  readonly body: string;
}

/** A left join gives a row without an event where there is none. */
export function hasEvent<Row extends { readonly idx: number | null }>(row: Row): row is Row & TextRow {
  return row.idx !== null;
}

/** `{"idx":N,"type":"…","at":"…Z", …fields}` */
export function toEventText({ idx, at, kind, raw, body }: TextRow): EventText {
  const bytes = raw === null ? '' : `,"bytes":"${raw.toString('base64')}"`;
  const fields = body === '{}' ? '}' : `,${body.slice(1)}`;
  return { idx, kind, json: `{"idx":${idx},"type":${JSON.stringify(kind)},"at":"${at}"${bytes}${fields}` };
}
