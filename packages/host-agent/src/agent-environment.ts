// The whole environment of an agent. It starts from nothing: only names that the host's
// configuration let through, what keeps the agent's program quiet, and the session's own folders.

import { SANDBOX_MARK } from './marked-processes.js';
import type { SessionFolder } from './session-folder.js';

/** A session with this model talks to the scripted model of this installation. */
export const DEMO_MODEL = 'engram-demo';

/** Everything that could send a demo session to a real model, or real credentials to the demo. */
const MODEL_ACCESS = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'CLAUDE_CODE_OAUTH_TOKEN'];

export interface AgentEnvironmentInput {
  /** What the configuration let through: credentials, proxies, PATH, LANG and the user's own additions. */
  readonly allowed: Readonly<Record<string, string>>;
  readonly folder: SessionFolder;
  readonly model: string | undefined;
  readonly demoModelUrl: string | undefined;
  readonly sandboxMark: string;
}

export function createAgentEnvironment(input: AgentEnvironmentInput): Readonly<Record<string, string>> {
  const env = new Map(Object.entries(input.allowed));
  if (!env.has('PATH')) env.set('PATH', '/usr/local/bin:/usr/bin:/bin');
  if (!env.has('LANG')) env.set('LANG', 'C.UTF-8');
  env.set('TERM', 'dumb');
  for (const quiet of [
    'DISABLE_AUTOUPDATER',
    'DISABLE_TELEMETRY',
    'DISABLE_ERROR_REPORTING',
    'DISABLE_BUG_COMMAND',
    'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC',
  ]) {
    env.set(quiet, '1');
  }
  if (input.model === DEMO_MODEL && input.demoModelUrl !== undefined) {
    for (const name of MODEL_ACCESS) env.delete(name);
    env.set('ANTHROPIC_BASE_URL', input.demoModelUrl);
    env.set('ANTHROPIC_API_KEY', 'engram-demo-not-a-real-key');
    const noProxy = [env.get('NO_PROXY') ?? env.get('no_proxy'), '127.0.0.1,localhost'].filter(Boolean).join(',');
    env.set('NO_PROXY', noProxy).set('no_proxy', noProxy);
  }
  env.set('HOME', input.folder.home);
  env.set('CLAUDE_CONFIG_DIR', `${input.folder.home}/.claude`);
  env.set('TMPDIR', input.folder.tmp);
  env.set(SANDBOX_MARK, input.sandboxMark);
  return Object.fromEntries(env);
}
