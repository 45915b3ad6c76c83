// Writes the generated documents from the built package: docs/openapi.json and
// docs/event-schemas.json. With `--release X.Y.Z` also copies them to docs/released/X.Y.Z/, where
// the comparison with the last release finds them.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiDocument, eventDocument } from '../dist/index.js';

const docs = join(import.meta.dirname, '../../../docs');
const files = new Map([
  ['openapi.json', apiDocument()],
  ['event-schemas.json', eventDocument()],
]);

function write(folder) {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
  process.stdout.write(`wrote ${[...files.keys()].join(', ')} to ${folder}\n`);
}

write(docs);
const at = process.argv.indexOf('--release');
if (at !== -1) {
  const version = process.argv[at + 1] ?? '';
  if (!/^\d+\.\d+\.\d+$/.test(version)) {
    process.stderr.write('usage: write-docs.mjs [--release X.Y.Z]\n');
    process.exit(1);
  }
  write(join(docs, 'released', version));
}
