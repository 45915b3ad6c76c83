// `npm run probe -- --claude VERSION|PATH [NAME…]`: runs the probes against one CLI and prints what
// each saw. Exit code 1 when a probe could not be run; a claim that does not hold is a finding.

import { parseArgs } from 'node:util';
import { claudeBinary } from './claude-binary.js';
import { PROBES } from './probes.js';

const { values, positionals } = parseArgs({
  options: { claude: { type: 'string', default: '2.1.332' } },
  allowPositionals: true,
});
const bin = values.claude.includes('/') ? values.claude : claudeBinary(values.claude);
const chosen = positionals.length === 0 ? PROBES : PROBES.filter((probe) => positionals.includes(probe.name));
if (chosen.length === 0) {
  process.stderr.write(`no such probe; there are: ${PROBES.map((probe) => probe.name).join(', ')}\n`);
  process.exitCode = 1;
}
for (const probe of chosen) {
  try {
    const { holds, saw } = await probe.run(bin);
    process.stdout.write(`${holds ? 'yes' : 'no '}  ${probe.name.padEnd(18)} ${probe.claim}\n     ${saw}\n`);
  } catch (error) {
    process.exitCode = 1;
    process.stdout.write(`??   ${probe.name.padEnd(18)} ${error instanceof Error ? error.message : String(error)}\n`);
  }
}
