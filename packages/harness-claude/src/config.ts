// What the harness reads from its environment, once. Its assignment comes on stdin; the environment
// holds nothing about the session.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type TraceSettings, toTraceSettings } from '@engram/harness-proto';
import { asRecord, asString, parseJson } from './json-guards.js';
import { HOOK_TIMEOUT_S } from './settings.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export interface HarnessConfig {
  readonly version: string;
  readonly logLevel: string;
  /** A resumed agent that has not fired its hook by then is taken for silent. */
  readonly hookSilenceMs: number;
  /** An interrupted agent that has not ended its turn by then is killed. */
  readonly interruptMs: number;
  /** A first hook is denied after this: well before the CLI's own timeout, which would let the call pass. */
  readonly gateMs: number;
  /** So long a question waits for calls behind it that may be waiting for the question. */
  readonly blockedMs: number;
  readonly settleMs: number;
  /** Without a host for so long the agent is ended. */
  readonly unreachableMs: number;
  /** `command`: the hook-bridge on every version, where the agent cannot reach our loopback port. */
  readonly hookWay: 'auto' | 'command';
  /** This program's hook-bridge, without its socket argument. */
  readonly bridgeArgv: readonly string[];
  /** Undefined: no traces. */
  readonly tracing?: TraceSettings;
}

export function readConfig(env: NodeJS.ProcessEnv = process.env): HarnessConfig {
  const problems: string[] = [];
  const ms = (name: string, fallback: number): number => {
    const text = env[name];
    if (text === undefined || text === '') return fallback;
    const value = Number(text);
    if (Number.isInteger(value) && value > 0) return value;
    problems.push(`${name} must be a whole number of milliseconds, not ${JSON.stringify(text)}`);
    return fallback;
  };
  const tracing = toTraceSettings(env);
  const config: HarnessConfig = {
    ...(tracing === undefined ? {} : { tracing }),
    version: packageVersion(),
    logLevel: env.ENGRAM_LOG_LEVEL ?? 'info',
    hookSilenceMs: ms('ENGRAM_HOOK_SILENCE_MS', 60_000),
    interruptMs: ms('ENGRAM_INTERRUPT_MS', 10_000),
    gateMs: HOOK_TIMEOUT_S * 1000 - HOUR_MS,
    blockedMs: ms('ENGRAM_BLOCKED_MS', 5000),
    settleMs: ms('ENGRAM_SETTLE_MS', 100),
    // Twice a lease: by then another host may have gone on with the session, and this agent would work beside it.
    unreachableMs: ms('ENGRAM_UNREACHABLE_MS', MINUTE_MS / 2),
    hookWay: env.ENGRAM_HOOK_WAY === 'command' ? 'command' : 'auto',
    bridgeArgv: [process.execPath, fileURLToPath(new URL('./main.js', import.meta.url)), 'hook-bridge'],
  };
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return Object.freeze(config);
}

/** The secret a hook-bridge got from the agent's environment, and the socket when argv has none. */
export function readBridgeConfig(env: NodeJS.ProcessEnv = process.env): { socket: string; token: string } {
  return { socket: env.ENGRAM_HOOK_SOCK ?? '', token: env.ENGRAM_HOOK_TOKEN ?? '' };
}

function packageVersion(): string {
  const manifest = parseJson(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return asString(asRecord(manifest)?.version) ?? '0.0.0';
}
