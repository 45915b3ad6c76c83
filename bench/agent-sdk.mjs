// The vendor's Agent SDK, which a bench runs beside Engram: pinned in agents/agent-sdk-<version> with a lock
// file of its own, because its licence is not an open one, and fetched by the bench that asks for it. It
// drives the pinned CLI, so its own platform binary is left out.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const SDK = '@anthropic-ai/claude-agent-sdk';
export const AGENT_SDK_VERSION = '0.3.332';

export async function loadAgentSdk() {
  const folder = fileURLToPath(new URL(`../agents/agent-sdk-${AGENT_SDK_VERSION}`, import.meta.url));
  if (!existsSync(`${folder}/node_modules/.package-lock.json`)) {
    process.stderr.write(`fetching the Agent SDK ${AGENT_SDK_VERSION} …\n`);
    const args = ['ci', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  return import(pathToFileURL(createRequire(`${folder}/package.json`).resolve(SDK)).href);
}
