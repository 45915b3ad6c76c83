import { describe, expect, it } from 'vitest';
import { missingRelease, prepareRelease, releases } from '../scripts/old-release.mjs';

describe('an old release', () => {
  it('that this clone does not have is told with the next step', async () => {
    const gone = { version: '0.0.9', commit: 'f'.repeat(40) };
    expect(missingRelease(gone)).toMatch(/Release 0\.0\.9 .*Next step: git (fetch --unshallow|clone)|Next step: clone/);
    await expect(prepareRelease(gone)).rejects.toThrow(/Next step/);
  });

  it('is named for every release there was, the first of them 0.1.0', () => {
    expect(releases()[0]?.version).toBe('0.1.0');
    for (const { commit } of releases()) expect(commit).toMatch(/^[0-9a-f]{40}$/);
  });
});
