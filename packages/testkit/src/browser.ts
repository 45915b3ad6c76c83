// The browser that scripts/ensure-browser.mjs found for this machine.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { repositoryRoot } from './claude-binary.js';
import { cleanEnvironment } from './clean-environment.js';

export type { Browser, BrowserContext, Page } from 'playwright-core';

/** A new browser process; each `newContext()` of it is a profile of its own. */
export async function launchBrowser(): Promise<Browser> {
  const { executable, env } = readChoice();
  return chromium.launch({
    executablePath: executable,
    chromiumSandbox: false,
    // Without a UTF-8 locale a downloaded file loses a name that is not plain ASCII.
    env: cleanEnvironment({ LC_ALL: 'C.UTF-8', ...env }),
    args: ['--disable-dev-shm-usage'],
  });
}

function readChoice(): { executable: string; env: Record<string, string> } {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(join(repositoryRoot, '.cache/browser.json'), 'utf8'));
  } catch (cause) {
    throw new Error('no browser was chosen yet: run `node scripts/ensure-browser.mjs`', { cause });
  }
  if (typeof value !== 'object' || value === null || !('executable' in value) || typeof value.executable !== 'string') {
    throw new Error('.cache/browser.json names no browser: run `node scripts/ensure-browser.mjs`');
  }
  const env = 'env' in value && typeof value.env === 'object' && value.env !== null ? Object.entries(value.env) : [];
  return { executable: value.executable, env: Object.fromEntries(env.map(([name, text]) => [name, String(text)])) };
}
