// What every handler may use: the coordinator's desk and the few things that belong to this process.

import type { SessionDesk } from '@engram/coordinator';
import type { Logger } from 'pino';
import type { BrowserLogin } from './browser-login.js';
import type { DoorMetrics } from './metrics.js';
import type { StreamHub } from './stream-hub.js';
import type { WorkspaceRules } from './workspace-rules.js';

export interface StatusInfo {
  readonly version: string;
  /** Offered by the new-session dialog. */
  readonly default_workspace?: string;
}

export interface Door {
  readonly desk: SessionDesk;
  readonly log: Logger;
  readonly streams: StreamHub;
  readonly login: BrowserLogin;
  readonly metrics: DoorMetrics;
  readonly workspaces: WorkspaceRules;
  readonly statusInfo: StatusInfo;
  /** How long one sign of a person answering holds the question. */
  readonly holdMs: number;
  readonly isClosing: () => boolean;
}
