// The only reader of the environment. Options of the command line win over ENGRAM_* variables, which
// win over defaults. The result is frozen; when anything is wrong, every problem is named at once.

import { homedir, tmpdir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { type TraceSettings, toTraceSettings } from '@engram/harness-proto';
import type { StoreSettings } from '@engram/host-agent';
import { CliError } from './cli-error.js';

export interface GlobalOptions {
  readonly dataDir?: string;
  readonly port?: string;
  readonly host?: string;
}

export interface Config {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  /** Where the person stands; npm moves its scripts to the checkout's root. */
  readonly cwd: string;
  /** A PostgreSQL server to use instead of our own. */
  readonly databaseUrl?: string;
  /** How long a start waits for a database that does not answer yet. */
  readonly databaseWaitMs: number;
  /** How browsers reach this server when that is not its own address: a proxy, an ingress. */
  readonly publicUrl?: string;
  /** The local owner's API token, the same for all servers; by default each data folder makes one. */
  readonly apiToken?: string;
  /** How long `engram host` lets open runs end when it is told to stop. */
  readonly drainMs: number;
  /** ENGRAM_CLAUDE_BIN, as given. */
  readonly claudeBin?: string;
  /** For looking up programs. */
  readonly path: string;
  /** Real paths are taken where it is used; empty means no `path` workspaces at all. */
  readonly workspaceRoots: readonly string[];
  /** How long a quiet session stays awake. */
  readonly idleMs: number;
  /** How long something that an agent left running in the background keeps its session awake at most. */
  readonly backgroundMs: number;
  /** How long one sign of a person answering holds a question. */
  readonly holdMs: number;
  readonly slots: number;
  /** Where session files are kept for hosts that share sessions; the host checks it. */
  readonly store?: StoreSettings;
  readonly logLevel: LogLevel;
  readonly metricsToken?: string;
  /** What an agent may see of our environment: credentials, proxies, PATH, LANG, and what the user added. */
  readonly agentEnvironment: Readonly<Record<string, string>>;
  readonly credentials: 'environment' | 'none';
  /** Traces to a collector, by OpenTelemetry's own variables; undefined: none. */
  readonly tracing?: TraceSettings;
  /** For programs of our own that we start: everything but what is meant for agents and this configuration. */
  readonly ownEnvironment: Readonly<Record<string, string>>;
  readonly colours: boolean;
  /** ENGRAM_* variables that mean nothing here: misspelt, or of another release. */
  readonly unknownSettings: readonly string[];
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const CREDENTIAL_NAMES = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'] as const;
const PROXY_NAMES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'all_proxy',
];
const AGENT_NAMES = [
  ...CREDENTIAL_NAMES,
  'ANTHROPIC_BASE_URL',
  ...PROXY_NAMES,
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'PATH',
  'LANG',
  'LC_ALL',
];
/** Every ENGRAM_* variable there is. */
export const SETTINGS: readonly string[] = [
  'ENGRAM_DATA_DIR',
  'ENGRAM_PORT',
  'ENGRAM_HOST',
  'ENGRAM_CLAUDE_BIN',
  'ENGRAM_WORKSPACE_ROOTS',
  'ENGRAM_IDLE_MS',
  'ENGRAM_BACKGROUND_MS',
  'ENGRAM_HOLD_MS',
  'ENGRAM_SLOTS',
  'ENGRAM_LOG_LEVEL',
  'ENGRAM_METRICS_TOKEN',
  'ENGRAM_DATABASE_WAIT_MS',
  'ENGRAM_PUBLIC_URL',
  'ENGRAM_API_TOKEN',
  'ENGRAM_DRAIN_MS',
  'ENGRAM_AGENT_ENV',
  'ENGRAM_SANDBOX',
  'ENGRAM_STORE',
  'ENGRAM_STORE_KEY',
];

export function readConfig(options: GlobalOptions, env: NodeJS.ProcessEnv = process.env): Config {
  const problems: string[] = [];
  const text = (name: string): string | undefined => {
    const value = env[name]?.trim();
    return value === undefined || value === '' ? undefined : value;
  };
  const whole = (what: string, value: string | undefined, fallback: number, least: number, most: number): number => {
    if (value === undefined) return fallback;
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= least && number <= most) return number;
    problems.push(`${what} must be a whole number from ${least} to ${most}, not "${value}"`);
    return fallback;
  };

  const port = whole(
    options.port === undefined ? 'ENGRAM_PORT' : '--port',
    options.port ?? text('ENGRAM_PORT'),
    4400,
    0,
    65_535,
  );
  const logLevel = parseLogLevel(text('ENGRAM_LOG_LEVEL'), problems);
  const claudeBin = text('ENGRAM_CLAUDE_BIN');
  if (claudeBin !== undefined && !isAbsolute(claudeBin) && !claudeBin.includes('/')) {
    problems.push(`ENGRAM_CLAUDE_BIN must be a path, not "${claudeBin}"`);
  }
  const databaseUrl = text('DATABASE_URL');
  if (databaseUrl !== undefined && !/^postgres(ql)?:\/\//.test(databaseUrl)) {
    problems.push('DATABASE_URL must begin with postgres:// or postgresql://');
  }
  const agentNames = splitList(text('ENGRAM_AGENT_ENV'), ',');
  for (const name of agentNames) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      problems.push(`ENGRAM_AGENT_ENV names "${name}", which is no variable name`);
    else if (name.startsWith('ENGRAM_'))
      problems.push(`ENGRAM_AGENT_ENV may not name ${name}: Engram's own settings stay outside`);
  }
  const roots = env.ENGRAM_WORKSPACE_ROOTS;
  const idleMs = whole('ENGRAM_IDLE_MS', text('ENGRAM_IDLE_MS'), 30_000, 0, 86_400_000);
  const backgroundMs = whole('ENGRAM_BACKGROUND_MS', text('ENGRAM_BACKGROUND_MS'), 900_000, 0, 86_400_000);
  const holdMs = whole('ENGRAM_HOLD_MS', text('ENGRAM_HOLD_MS'), 120_000, 1_000, 3_600_000);
  const slots = whole('ENGRAM_SLOTS', text('ENGRAM_SLOTS'), 16, 1, 1_000);
  const databaseWaitMs = whole('ENGRAM_DATABASE_WAIT_MS', text('ENGRAM_DATABASE_WAIT_MS'), 60_000, 0, 3_600_000);
  const drainMs = whole('ENGRAM_DRAIN_MS', text('ENGRAM_DRAIN_MS'), 60_000, 0, 86_400_000);
  const metricsToken = text('ENGRAM_METRICS_TOKEN');
  const publicUrl = text('ENGRAM_PUBLIC_URL');
  if (publicUrl !== undefined && !isOrigin(publicUrl)) {
    problems.push(`ENGRAM_PUBLIC_URL must be like https://engram.example, without a path, not "${publicUrl}"`);
  }
  const apiToken = text('ENGRAM_API_TOKEN');
  if (apiToken !== undefined && !/^[A-Za-z0-9._~+/=-]{32,256}$/.test(apiToken)) {
    problems.push('ENGRAM_API_TOKEN must have 32 to 256 characters of a bearer token: letters, digits, . _ ~ + / = -');
  }
  const dataDir = options.dataDir ?? text('ENGRAM_DATA_DIR') ?? resolve(homedir(), '.engram');
  if (dataDir.includes('\0') || dataDir.trim() === '') problems.push('--data-dir must name a folder');

  if (problems.length > 0) {
    throw new CliError(
      'bad_config',
      ['The configuration is not usable:', ...problems.map((line) => `  - ${line}`)].join('\n'),
    );
  }
  const cwd = (env.npm_lifecycle_event === undefined ? undefined : text('INIT_CWD')) ?? process.cwd();
  const tracing = toTraceSettings(env);
  const agentEnvironment = pick(env, [...AGENT_NAMES, ...agentNames]);
  return Object.freeze({
    cwd,
    dataDir: resolve(cwd, dataDir),
    host: options.host ?? text('ENGRAM_HOST') ?? '127.0.0.1',
    port,
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    databaseWaitMs,
    drainMs,
    ...(publicUrl === undefined ? {} : { publicUrl: publicUrl.replace(/\/$/, '') }),
    ...(apiToken === undefined ? {} : { apiToken }),
    ...(claudeBin === undefined ? {} : { claudeBin: resolve(cwd, claudeBin) }),
    path: env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    workspaceRoots:
      roots === undefined ? [homedir(), tmpdir()] : splitList(roots, ':').map((root) => resolve(cwd, root)),
    idleMs,
    backgroundMs,
    holdMs,
    slots,
    ...readStore(text),
    logLevel,
    ...(metricsToken === undefined ? {} : { metricsToken }),
    agentEnvironment,
    ...(tracing === undefined ? {} : { tracing }),
    credentials: CREDENTIAL_NAMES.some((name) => text(name) !== undefined) ? 'environment' : 'none',
    ownEnvironment: withoutAgents(env),
    colours: text('NO_COLOR') === undefined && text('TERM') !== 'dumb',
    unknownSettings: Object.keys(env).filter((name) => name.startsWith('ENGRAM_') && !SETTINGS.includes(name)),
  });
}

/** Names of the AWS tools, so that what is set for them serves here too. */
function readStore(text: (name: string) => string | undefined): { readonly store?: StoreSettings } {
  const address = text('ENGRAM_STORE');
  if (address === undefined) return {};
  const given = {
    key: text('ENGRAM_STORE_KEY'),
    accessKeyId: text('AWS_ACCESS_KEY_ID'),
    secretAccessKey: text('AWS_SECRET_ACCESS_KEY'),
    sessionToken: text('AWS_SESSION_TOKEN'),
    region: text('AWS_REGION') ?? text('AWS_DEFAULT_REGION'),
  };
  const set = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { store: { address, ...Object.fromEntries(set) } };
}

function parseLogLevel(value: string | undefined, problems: string[]): LogLevel {
  const level = LOG_LEVELS.find((each) => each === (value ?? 'info'));
  if (level === undefined) problems.push(`ENGRAM_LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}, not "${value}"`);
  return level ?? 'info';
}

function isOrigin(value: string): boolean {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value)) return false;
  const url = new URL(value);
  return url.origin === value.replace(/\/$/, '');
}

function splitList(value: string | undefined, separator: string): readonly string[] {
  return (value ?? '')
    .split(separator)
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function pick(env: NodeJS.ProcessEnv, names: readonly string[]): Readonly<Record<string, string>> {
  const found = names.flatMap((name) => {
    const value = env[name];
    return value === undefined || value === '' ? [] : [[name, value]];
  });
  return Object.freeze(Object.fromEntries(found));
}

function withoutAgents(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const entries = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || /^(ENGRAM_|ANTHROPIC_|CLAUDE)/.test(name) || name === 'DATABASE_URL' ? [] : [[name, value]],
  );
  return Object.freeze(Object.fromEntries(entries));
}
