// A short soak: a few rounds of a fixed schedule on the newest CLI. Longer ones: `npm run soak`.

import { claudeBinary, claudeVersions } from '@engram/testkit';
import { expect, it } from 'vitest';
import { planRun } from '../soak/schedule.mjs';
import { runSoak } from '../soak/soak.mjs';

it('loses, doubles and makes up nothing while processes are killed at random', async () => {
  const { rounds, stack } = await runSoak({
    claude: claudeBinary(claudeVersions().at(-1) ?? ''),
    groups: planRun('short', 4, 4),
  });
  expect(rounds.flatMap(({ round, findings }) => findings.map((finding) => ({ round, ...finding })))).toEqual([]);
  expect(stack).toEqual([]);
  expect(rounds).toHaveLength(4);
});
