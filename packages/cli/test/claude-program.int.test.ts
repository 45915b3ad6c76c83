// Programs that are slow, that hang, and that fail are told apart: only a busy machine is waited for.

import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { namedClaude, refuseBrokenClaude } from '../src/claude-program.js';

const PATH = '/usr/bin:/bin';
/** Uses the processor for more than a second before it speaks. */
const SLOW = '#!/bin/bash\nend=$((SECONDS + 2)); while [ $SECONDS -lt $end ]; do :; done; echo 2.1.999\n';

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'engram-claude-')));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function program(
  content: string,
): Promise<{ claudeBin: string; path: string; ownEnvironment: Record<string, string> }> {
  const claudeBin = join(folder, 'claude');
  await writeFile(claudeBin, content);
  await chmod(claudeBin, 0o755);
  return { claudeBin, path: PATH, ownEnvironment: {} };
}

describe('a claude that has not said its version', () => {
  it('does not stop a start while it is at work, and is asked again with more patience', async () => {
    const wishes = await program(SLOW);
    const said: string[] = [];
    await refuseBrokenClaude(wishes, (line) => said.push(line), 500);
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('asked again');
    expect(await namedClaude(wishes)).toMatchObject({ bin: wishes.claudeBin, version: '2.1.999' });
  });

  it('is refused when it hangs', async () => {
    const wishes = await program('#!/bin/sh\nexec sleep 60\n');
    const start = refuseBrokenClaude(wishes, () => undefined, 500);
    await expect(start).rejects.toMatchObject({ code: 'claude_unusable' });
  });

  it('is refused at once when it ends with an error', async () => {
    const wishes = await program('#!/bin/sh\nexit 3\n');
    const start = refuseBrokenClaude(wishes, () => undefined, 60_000);
    await expect(start).rejects.toMatchObject({ code: 'claude_unusable' });
  });
});
