// `npm run bench -- [NAME…] [-- ARGS]`: runs the named benches (all without a name), each in a process of its
// own. Each writes bench/results/<name>.json and prints its table.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const benches = fs
  .readdirSync(folder)
  .filter((file) => file.endsWith('.bench.mjs'))
  .map((file) => file.slice(0, -'.bench.mjs'.length));

const given = process.argv.slice(2);
const names = given.filter((arg) => !arg.startsWith('-') && benches.includes(arg));
const passed = given.filter((arg) => !benches.includes(arg));
const unknown = passed.find((arg, i) => !arg.startsWith('-') && !passed[i - 1]?.startsWith('--'));
if (unknown !== undefined) {
  console.error(`no bench is called "${unknown}"; there are: ${benches.join(', ')}`);
  process.exit(2);
}
let failed = 0;
for (const name of names.length > 0 ? names : benches) {
  const { status } = spawnSync(process.execPath, [`${folder}${name}.bench.mjs`, ...passed], { stdio: 'inherit' });
  if (status !== 0) failed += 1;
}
process.exit(failed === 0 ? 0 : 1);
