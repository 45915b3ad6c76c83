// What `engram up` and its two children say to one another: one order, as the first line on the child's
// stdin, and reports as lines on its stdout. The end of stdin means: the parent is gone or wants you
// to stop. Secrets travel here and nowhere else.

import type { PostgresConnection } from '@engram/coordinator';
import type { TraceSettings } from '@engram/harness-proto';
import type { StoreSettings } from '@engram/host-agent';
import type { LogLevel } from './config.js';

export interface CommonOrder {
  readonly database: string | PostgresConnection;
  readonly dataDir: string;
  readonly runDir: string;
  readonly logLevel: LogLevel;
  readonly tracing?: TraceSettings;
}

export interface ServeOrder extends CommonOrder {
  readonly kind: 'serve';
  readonly host: string;
  readonly port: number;
  /** The API token of the local owner. */
  readonly token: string;
  readonly workspaceRoots: readonly string[];
  readonly holdMs: number;
  readonly metricsToken?: string;
  readonly publicUrl?: string;
  readonly defaultWorkspace?: string;
}

export interface HostOrder extends CommonOrder {
  readonly kind: 'host';
  readonly claudeBin?: string;
  readonly path: string;
  readonly agentEnvironment: Readonly<Record<string, string>>;
  readonly ownEnvironment: Readonly<Record<string, string>>;
  readonly workspaceRoots: readonly string[];
  readonly credentials: 'environment' | 'none';
  readonly idleMs: number;
  readonly backgroundMs: number;
  readonly holdMs: number;
  readonly slots: number;
  readonly store?: StoreSettings;
}

export type ChildOrder = ServeOrder | HostOrder;

export type ChildReport =
  /** Listening (serve) or registered (host). */
  | { readonly type: 'ready'; readonly port?: number; readonly isolation?: string; readonly claude?: string }
  /** For the person at the terminal. */
  | { readonly type: 'note'; readonly text: string }
  /** The last words before an exit ≠ 0: a sentence with its next step. */
  | { readonly type: 'failed'; readonly text: string };

export function parseReport(line: string): ChildReport | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || !('type' in value)) return undefined;
  const text = 'text' in value && typeof value.text === 'string' ? value.text : '';
  if (value.type === 'note' || value.type === 'failed') return { type: value.type, text };
  if (value.type !== 'ready') return undefined;
  return {
    type: 'ready',
    ...('port' in value && typeof value.port === 'number' ? { port: value.port } : {}),
    ...('isolation' in value && typeof value.isolation === 'string' ? { isolation: value.isolation } : {}),
    ...('claude' in value && typeof value.claude === 'string' ? { claude: value.claude } : {}),
  };
}
