// Search in one session: which rows hold all the words. Pure, over the rows' own text; run headings
// are no hits, because what they say is counted and not written.

import type { Row } from './conversation-rows.js';

function textOf(row: Row): string {
  switch (row.kind) {
    case 'message':
    case 'prompt':
    case 'thought':
      return row.text;
    case 'tool':
      return `${row.name}\n${row.args ?? ''}\n${row.result ?? ''}`;
    case 'change':
      return row.path;
    case 'question':
      return row.card.questions.map((q) => [q.question, ...q.options.map((o) => o.label)].join('\n')).join('\n');
    case 'notice':
      return row.message;
    case 'unrecognised':
      return row.fields;
    case 'run':
    case 'earlier':
      return '';
  }
}

/** Keys of the rows in which the whole query stands, upper or lower case; in order. */
export function searchRows(rows: readonly Row[], query: string): readonly string[] {
  const needle = query.trim().toLowerCase();
  if (needle === '') return [];
  return rows.filter((row) => textOf(row).toLowerCase().includes(needle)).map((row) => row.key);
}
