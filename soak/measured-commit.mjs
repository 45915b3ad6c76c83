// Which commit a result was made with, for the lines in bench/results.

import { execFileSync } from 'node:child_process';
import { repositoryRoot } from '@engram/testkit';

/** Short, with a `+` when packages hold changes that are not committed; `unknown` outside a checkout. */
export function measuredCommit() {
  const git = (...args) => execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8' }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', 'packages') !== '';
    return `${git('rev-parse', '--short', 'HEAD')}${changed ? '+' : ''}`;
  } catch {
    return 'unknown';
  }
}
