// The whole environment of the agent: what the host listed, the hook's secret, and, when the agent
// works through a proxy, the exception without which its hooks would go to the proxy and fail open.

import { MARKER_VARIABLE } from './end-processes.js';

const LOOPBACK = ['127.0.0.1', 'localhost'];

export interface HookVariables {
  readonly token: string;
  /** Set when the hook comes through the bridge. */
  readonly socketPath?: string;
}

export function toAgentEnv(listed: Readonly<Record<string, string>>, hook: HookVariables): Record<string, string> {
  return {
    ...listed,
    ...loopbackDirect(listed),
    [MARKER_VARIABLE]: hook.token,
    ...(hook.socketPath === undefined ? {} : { ENGRAM_HOOK_SOCK: hook.socketPath }),
  };
}

function loopbackDirect(listed: Readonly<Record<string, string>>): Record<string, string> {
  const proxied = Object.entries(listed).some(
    ([name, value]) => /^(http|https|all)_proxy$/i.test(name) && value !== '',
  );
  if (!proxied) return {};
  const named = (listed.no_proxy ?? listed.NO_PROXY ?? '').split(',').map((host) => host.trim());
  const hosts = [...new Set([...named.filter((host) => host !== ''), ...LOOPBACK])].join(',');
  return { NO_PROXY: hosts, no_proxy: hosts };
}
